#!/usr/bin/env bash
# Runs a command (second argument and following) while the kernels that tests use are built: the
# default one, then 7.3. First argument: the virtual environment. Prints what the builds said, and
# ends with the command's status.
set -uo pipefail
cd "$(dirname "$0")/.."

dumbbell="${1:?usage: beside-kernels.sh VENV COMMAND…}/bin/dumbbell"
shift
told="$(mktemp)"
kernels() {
    # The default one's tree is kept: tests build modules.
    for release in "--keep" "--release 7.3"; do
        # shellcheck disable=SC2086  # One word or two.
        "$dumbbell" kernel build $release || echo "beside-kernels: not built: $release" >&2
    done
}
set -m # The builds are a process group, so that they end with this script.
kernels > "$told" 2>&1 < /dev/null &
group=$!
set +m
trap 'kill -- "-$group" 2> /dev/null; rm -f "$told"' EXIT
"$@"
status=$?
((status)) || wait "$group"
cat "$told"
exit "$status"
