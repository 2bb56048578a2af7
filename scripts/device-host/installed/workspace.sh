#!/bin/sh
# usage: workspace.sh empty FOLDER          remove everything that a job left in it
#        workspace.sh fill FOLDER RUNNER    the same, then copy a fresh runner and make a home
# Runs as the jobs' user, so that a link which a job left leads nowhere that the job could not go.
set -eu
folder=$2
find "$folder" -mindepth 1 -type d ! -perm -u=rwx -exec chmod u+rwx {} \;
find "$folder" -mindepth 1 -delete
if [ "$1" = fill ]; then
    mkdir "$folder/home"
    cp -R --preserve=mode,links "$3" "$folder/runner"
fi
