#!/bin/sh
# Moves a log file aside and keeps a number of old ones: rotate.sh FILE KEEP
set -eu
file=$1
keep=$2
[ -e "$file" ] || exit 0
n=$keep
while [ "$n" -gt 0 ]; do
    if [ -e "$file.$n" ]; then
        mv "$file.$n" "$file.$((n + 1))"
    fi
    n=$((n - 1))
done
mv "$file" "$file.1"
