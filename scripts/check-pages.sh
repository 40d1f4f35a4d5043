#!/usr/bin/env bash
# Checks the types of the scripts of the pages, if node is installed. The compiler goes into the
# folder given as first argument.
set -euo pipefail
cd "$(dirname "$0")/.."

tools="${1:?usage: check-pages.sh FOLDER}/typescript"
version=5.9.3

if ! command -v npm > /dev/null 2>&1; then
    echo "check-pages: npm is missing: types of the pages' scripts are not checked" >&2
    exit 0
fi
if [ ! -x "$tools/node_modules/.bin/tsc" ]; then
    npm install --silent --no-audit --no-fund --prefix "$tools" "typescript@$version" > /dev/null
fi

check() {
    "$tools/node_modules/.bin/tsc" --noEmit --allowJs --checkJs --strict --moduleDetection legacy \
        --target es2022 --lib es2022,dom,dom.iterable "$@"
}

# A page's scripts are one module, behind those that all have: checked together.
face=dumbbell/face/scripts
check "$face"/*.js dumbbell/capture/scripts/*.js
check "$face"/*.js dumbbell/explore/scripts/*.js
# Top-level await needs a module, marked by an export.
whole="$tools/animation.js"
(
    cat "$face"/{elements,words,colours,chart,keys}.js
    cd dumbbell/animation/scripts && cat data.js moments.js words.js surface.js draw.js why.js panel.js charts.js main.js
) | sed '/^\/\/ @ts-check$/d' > "$whole"
printf 'export {};\n' >> "$whole"
check --module es2022 --moduleDetection auto "$whole"
check dumbbell/face/theme.js
