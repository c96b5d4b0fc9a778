#!/bin/sh
# Checks the scripts in rooms of their own (ESLint, Prettier, types), with what package-lock.json names. The app needs no
# Node, so without one (20.19 or later, with npm) it says so in a line and lets the other checks go on. `mend`: mends.
set -e
recent='const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)'
if ! command -v npm >/dev/null || ! node -e "$recent" 2>/dev/null; then
    echo "Node 20.19 or later with npm was not found: the checks of the scripts were left out."
    exit 0
fi
# A copy of the lockfile is put beside what was installed only after that went through.
if ! cmp -s package-lock.json node_modules/.installed; then
    npm ci --loglevel=error
    cp package-lock.json node_modules/.installed
fi
if [ "${1:-}" = mend ]; then
    npm run --silent mend
    exit
fi
npm run --silent lint
npm run --silent format
npm run --silent types
