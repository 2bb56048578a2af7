#!/bin/sh
# Run one job, and end. usage: job.sh CONFIG RUNNER_FOLDER
# The registration goes by the environment, from which the runner removes it at once: a command
# line can be read by every user of this machine.
set -eu
ACTIONS_RUNNER_INPUT_JITCONFIG=$(cat "$1")
export ACTIONS_RUNNER_INPUT_JITCONFIG
rm -f "$1"
cd "$2"
exec ./run.sh
