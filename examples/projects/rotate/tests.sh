#!/bin/sh
# Prints TAP, as many runners do.
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
count=0
failed=0

check() { # check NAME COMMAND...
    count=$((count + 1))
    name=$1
    shift
    if "$@"; then echo "ok $count - $name"; else echo "not ok $count - $name"; failed=1; fi
}

echo one > "a log"
sh "$here/rotate.sh" "a log" 2
check "a file is moved aside" test -e "a log.1"

echo two > "a log"
sh "$here/rotate.sh" "a log" 2
check "older ones move on" grep -q one "a log.2"

echo three > "a log"
sh "$here/rotate.sh" "a log" 2
check "no more are kept than was said" test ! -e "a log.3"

: > empty
sh "$here/rotate.sh" empty 2
check "an empty file stays" test ! -e empty.1
echo "1..$count"
exit $failed
