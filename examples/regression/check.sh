#!/bin/sh
# Exit code 0: as the baseline, or better. 1: worse, or an expectation fails. 2: an error.
#   ENGINE=linux:mine sh check.sh             compares
#   ENGINE=linux:mine sh check.sh --update    writes the baseline, to be committed
set -eu
here=$(dirname "$0")
engine=${ENGINE:-sim}
exec dumbbell check "$here/experiment.yaml" --engine "$engine" --store "${STORE:-store}" \
    --baseline "$here/baseline-${engine#linux:}.json" --junit "${JUNIT:-results.xml}" "$@"
