#!/usr/bin/env bash
# Installs programs of some tests with apt if this user is root: a browser, ns-2 with its examples,
# ffmpeg. Tests without their program are skipped; errors here stop no other test.
set -uo pipefail

wanted=()
command -v chromium > /dev/null 2>&1 || wanted+=(chromium)
command -v ns > /dev/null 2>&1 || wanted+=(ns2 ns2-examples)
command -v ffmpeg > /dev/null 2>&1 || wanted+=(ffmpeg)
((${#wanted[@]})) || exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get > /dev/null 2>&1; then
    echo "test-tools: missing, tests that need them are skipped: ${wanted[*]}" >&2
    exit 0
fi
echo "test-tools: installing ${wanted[*]}"
if ! { timeout 120 apt-get update -qq &&
    DEBIAN_FRONTEND=noninteractive timeout 600 apt-get install -y -qq "${wanted[@]}"; } > /dev/null 2>&1; then
    echo "test-tools: not installed; tests that need them are skipped" >&2
fi
exit 0
