#!/usr/bin/env bash
# Bundles the editor of the pages (editor/) into dumbbell/face/vendor, with the licences of what it
# holds. Needs npm. The bundle is committed, so that only who changes the editor needs this.
set -euo pipefail
cd "$(dirname "$0")/../editor"

npm ci --silent --no-audit --no-fund
npm run --silent build
{
    echo "The editor of experiment files (editor/editor.js, Apache-2.0) with these libraries:"
    for name in codemirror/{autocomplete,commands,lang-yaml,language,lint,state,view} \
        lezer/{common,highlight,lr,yaml} marijn/find-cluster-break; do
        [ -d "node_modules/@$name" ] || continue
        printf '\n== @%s ==\n\n' "$name"
        cat "node_modules/@$name"/LICENSE*
    done
    for name in crelt style-mod w3c-keyname yaml; do
        printf '\n== %s ==\n\n' "$name"
        cat "node_modules/$name"/LICENSE*
    done
} > ../dumbbell/face/vendor/editor.LICENSE
