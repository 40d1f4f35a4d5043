#!/usr/bin/env bash
# Checks the types of the pages' programs, where node is installed. The compiler is kept in the folder
# given.
set -euo pipefail
cd "$(dirname "$0")/.."

tools="${1:?usage: check-pages.sh FOLDER}/typescript"
version=5.9.3

if ! command -v npm > /dev/null 2>&1; then
    echo "check-pages: no npm here: types of the pages' programs are not checked" >&2
    exit 0
fi
if [ ! -x "$tools/node_modules/.bin/tsc" ]; then
    npm install --silent --no-audit --no-fund --prefix "$tools" "typescript@$version" > /dev/null
fi

check() {
    "$tools/node_modules/.bin/tsc" --noEmit --allowJs --checkJs --strict --moduleDetection legacy \
        --target es2022 --lib es2022,dom,dom.iterable "$@"
}

# Together: they stand in one module of the page.
check dumbbell/capture/scripts/*.js
# These wait for their data: only a module may, and it must say that it is one.
whole="$tools/animation.js"
(cd dumbbell/animation/scripts && cat data.js moments.js words.js surface.js draw.js panel.js charts.js main.js) |
    sed '/^\/\/ @ts-check$/d' > "$whole"
printf 'export {};\n' >> "$whole"
check --module es2022 --moduleDetection auto "$whole"
check dumbbell/report/page.js
