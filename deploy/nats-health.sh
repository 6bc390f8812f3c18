#!/bin/sh
# nats-health.sh FOLDER [alive]: whether nats-server stores what it is given, as its whole /healthz says; with `alive`:
# whether it answers. FOLDER is on the disk of its store.
#
# A store that could not write, for whatever cause, writes again only after the server has started anew. So where the
# server says that, and FOLDER takes 32 MB again, the server is ended: who runs the container starts it.
answer=$(printf 'GET /healthz HTTP/1.0\r\n\r\n' | nc -w 2 127.0.0.1 "${NATS_MONITOR:-8222}")
case $answer in
*'"ok"'*) exit 0 ;;
*'write error'*)
    dd if=/dev/zero of="$1/.room" bs=1M count=32 2>/dev/null && kill -TERM "${NATS_PID:-1}"
    rm -f "$1/.room"
    ;;
esac
[ "$2" = alive ] && [ -n "$answer" ]
