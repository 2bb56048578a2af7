#!/bin/sh
# Run a command of the README on a machine with Debian and Python, and nothing else.
#
# usage: sudo scripts/bare_machine.sh [--again] [--share PATH[:PATH]] [--env NAME=VALUE] SESSION ...
#
# Makes a root folder with mmdebstrap, puts a fresh clone of this checkout's HEAD into it, and runs
# `python3 scripts/fresh.py SESSION ...` there, in namespaces of its own: however the run ends, its
# processes and mounts end, too. --again: and in a second clone, with the packages there. --share
# copies a file or folder of this machine, such as a registry's certificate. Exit status: 0 if every
# run exited with 0 and left nothing in its clone but environments, results and caches.
set -eu
machines=bare shared= variables=
path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
by_design='(\.venv|\.nox|out|__pycache__|_cache|\.hypothesis)/$'
while [ $# -gt 0 ]; do
    case $1 in
        --again) machines='bare furnished' ;;
        --share) shared="$shared $2" && shift ;;
        --env) variables="$variables $2" && shift ;;
        *) break ;;
    esac
    shift
done
[ $# -gt 0 ] && [ "$(id -u)" = 0 ] || { sed -n '4s/# //p' "$0" >&2; exit 2; }

# A plain chroot does not suffice: the virtual phone needs user namespaces, which it forbids.
enter='set -e
mount --make-rprivate /
mount --bind "$1" "$1"
mount -t proc proc "$1/proc"
mount --rbind /sys "$1/sys"
mount --rbind /dev "$1/dev"
mount -t tmpfs -o mode=755 tmpfs "$1/run"
cd "$1"
pivot_root . .
umount -l .
cd "$2"
shift 2
exec "$@"'

root=$(mktemp --directory --tmpdir megtrim-bare-XXXXXX)
trap 'rm -rf "$root"' EXIT
trap 'exit 143' HUP INT TERM
chmod 755 "$root"
mmdebstrap --quiet --variant=minbase --include=python3 bookworm "$root"
for words in $shared /etc/resolv.conf /etc/hosts; do
    mkdir -p "$root$(dirname "${words#*:}")"
    cp -RLT "${words%%:*}" "$root${words#*:}"
done
failed=0
for machine in $machines; do
    clone=/root/megtrim-$machine began=$(date +%s) status=0
    git clone --quiet "file://$(dirname "$(dirname "$(realpath "$0")")")" "$root$clone"
    unshare --mount --pid --ipc --uts --fork --kill-child \
        sh -c "$enter" sh "$root" "$clone" \
        env -i "PATH=$path" HOME=/root LANG=C.UTF-8 $variables python3 scripts/fresh.py "$@" ||
        status=$?
    left=$(git -C "$root$clone" status --porcelain --ignored | grep -vE "$by_design" || :)
    minutes=$((($(date +%s) - began) / 60))
    echo "$machine: exit $status after $minutes min, left: ${left:-nothing}"
    [ "$status" = 0 ] && [ -z "$left" ] || failed=1
done
exit $failed
