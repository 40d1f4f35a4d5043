#!/usr/bin/env bash
# Installs the programs that tests use with apt if this user is root. A test without its program is
# skipped; in continuous integration (CI=true) pytest then fails (tests/conftest.py). Errors here stop
# no other test.
set -uo pipefail

# program:packages
tools=(
    chromium:chromium clang:clang curl:curl ffmpeg:ffmpeg iperf3:iperf3 nginx:nginx-light node:nodejs
    "ns:ns2 ns2-examples" ping:iputils-ping tcpdump:tcpdump tcptrace:tcptrace tshark:tshark wasm-ld:lld
)

wanted=()
for tool in "${tools[@]}"; do
    PATH="$PATH:/usr/sbin:/sbin" command -v "${tool%%:*}" > /dev/null 2>&1 && continue
    read -r -a packages <<< "${tool#*:}"
    wanted+=("${packages[@]}")
done
((${#wanted[@]})) || exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get > /dev/null 2>&1; then
    echo "test-tools: missing, tests that need them are skipped: ${wanted[*]}" >&2
    exit 0
fi

# Packages with a service (nginx, iperf3) start it unless this file forbids it.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    trap 'rm -f "$policy"' EXIT
    printf '#!/bin/sh\nexit 101\n' > "$policy"
    chmod 755 "$policy"
fi
echo "test-tools: installing ${wanted[*]}"
if ! { timeout 120 apt-get update -qq &&
    DEBIAN_FRONTEND=noninteractive timeout 900 apt-get install -y -qq --no-install-recommends \
        "${wanted[@]}"; } > /dev/null 2>&1; then
    echo "test-tools: not installed; tests that need them are skipped: ${wanted[*]}" >&2
fi
exit 0
