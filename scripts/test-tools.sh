#!/usr/bin/env bash
# Programs that some tests use and are skipped without: a browser, ns-2 with its examples, ffmpeg.
# Installed with apt where this user may; whatever goes wrong here, the other tests run.
set -uo pipefail

wanted=()
command -v chromium > /dev/null 2>&1 || wanted+=(chromium)
command -v ns > /dev/null 2>&1 || wanted+=(ns2 ns2-examples)
command -v ffmpeg > /dev/null 2>&1 || wanted+=(ffmpeg)
((${#wanted[@]})) || exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get > /dev/null 2>&1; then
    echo "test-tools: tests that need them are skipped without: ${wanted[*]}" >&2
    exit 0
fi
echo "test-tools: installing ${wanted[*]}"
if ! { timeout 120 apt-get update -qq &&
    DEBIAN_FRONTEND=noninteractive timeout 600 apt-get install -y -qq "${wanted[@]}"; } > /dev/null 2>&1; then
    echo "test-tools: not installed; tests that need them are skipped" >&2
fi
exit 0
