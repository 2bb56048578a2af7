# Bash reads this file (BASH_ENV) before each step of a job that act runs.
trap 'case $BASH_COMMAND in *.venv/bin/megtrim*) echo megtrim >>"$TALLY_OF_STARTS" ;; esac' DEBUG
