# Functions for the demo and for the tests with real tracing backends. Source it from bash. Processes that are started
# here are known by their process ids, and no other process is ever signalled. All files are written to $WORK, a
# temporary folder.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# The folder of the binaries. It is that of `make release` unless BINARIES names another one.
BINARIES=${BINARIES:-$ROOT/.build/release}
COORDINATOR=''
# The store of the coordinator: empty for the one in its data folder, or the address of a PostgreSQL database. With
# BATON_TEST_STORE=postgres it is the empty database of the server that Scripts/with-postgres --fsync has started.
STORE=''
if [[ ${BATON_TEST_STORE:-sqlite} == postgres ]]; then
  STORE=${BATON_TEST_POSTGRES:?BATON_TEST_STORE=postgres needs a server: Scripts/with-postgres --fsync COMMAND}
fi
LEASE=${LEASE:-15s}
declare -A WORKERS=()

die() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

# begin: makes $WORK, and ensures that every started process ends with this script, however the script ends.
begin() {
  local name
  for name in baton baton-worker baton-exec; do
    [[ -x $BINARIES/$name ]] || die "there is no $BINARIES/$name: run make release first"
  done
  # The settings and the coordinator of the user who runs this script must have no effect.
  for name in "${!BATON_@}"; do unset "$name"; done
  # A container and CI have no user but root.
  ((EUID)) || export BATON_ALLOW_ROOT=true
  WORK=$(mktemp -d "${TMPDIR:-/tmp}/baton-XXXXXX")
  WORK=$(cd "$WORK" && pwd -P)
  mkdir -m 700 "$WORK/runtime"
  export XDG_RUNTIME_DIR=$WORK/runtime XDG_STATE_HOME=$WORK/state
  PORT=0
  trap clean_up EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
}

clean_up() {
  local status=$? name
  trap - EXIT
  set +e
  for name in "${!WORKERS[@]}"; do kill_tree "${WORKERS[$name]}"; done
  [[ -n $COORDINATOR ]] && kill_tree "$COORDINATOR"
  [[ -n ${RUN:-} ]] && kill_tree "$RUN"
  kill_strays
  if ((status == 0 || status > 128)); then
    rm -rf "$WORK"
  else
    printf 'the logs and the data are in %s\n' "$WORK" >&2
  fi
  exit "$status"
}

# ---- Processes, without ps, because a minimal system does not have it.

# children_of PID: prints the ids of its children, one per line.
children_of() {
  local stat line fields
  for stat in /proc/[0-9]*/stat; do
    { IFS= read -r line <"$stat"; } 2>/dev/null || continue
    # After the name in parentheses, which may contain any character, come the state and the parent.
    read -ra fields <<<"${line##*) }"
    [[ ${fields[1]} == "$1" ]] && printf '%s\n' "${line%% *}"
  done
  return 0
}

# tree_of PID: prints the ids of the process and of all its descendants.
tree_of() {
  local child
  printf '%s\n' "$1"
  for child in $(children_of "$1"); do tree_of "$child"; done
}

# alive PID: true if the process runs. A zombie does not run.
alive() {
  local line
  { IFS= read -r line <"/proc/$1/stat"; } 2>/dev/null || return 1
  line=${line##*) }
  [[ ${line%% *} != [ZX] ]]
}

dead() { ! alive "$1"; }

# kill_tree PID: sends SIGKILL to the process and all its descendants at once.
kill_tree() {
  # shellcheck disable=SC2046
  kill -KILL $(tree_of "$1") 2>/dev/null || true
  until_true 5 dead "$1"
}

# kill_strays: kills processes that a killed worker has left and that no later worker has found. They are recognised by
# the folder in their environment.
kill_strays() {
  local file
  for file in /proc/[0-9]*/environ; do
    if grep -qzF "BATON_EXPIRY_FILE=$WORK/" "$file" 2>/dev/null; then
      file=${file#/proc/}
      kill -KILL "${file%/environ}" 2>/dev/null || true
    fi
  done
}

# ---- Time

# now: prints the time in milliseconds since 1970.
now() {
  local time=${EPOCHREALTIME/[.,]/}
  printf '%s' "${time%???}"
}

# pause MILLISECONDS: sleeps.
pause() { sleep "$(printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)))"; }

# until_true SECONDS COMMAND...: repeats the command until it succeeds. False if it does not succeed in this time.
until_true() {
  local deadline=$(($(now) + $1 * 1000))
  shift
  until "$@"; do
    (($(now) < deadline)) || return 1
    sleep 0.05
  done
}

# ---- Coordinator and workers

# start_coordinator: starts it on a free port the first time, and later on the same port and the same data.
start_coordinator() {
  local lines=0
  [[ -f $WORK/coordinator.log ]] && lines=$(wc -l <"$WORK/coordinator.log")
  env ${STORE:+"BATON_STORE=$STORE"} "BATON_LEASE_TERM=$LEASE" "$BINARIES/baton" coordinator \
    --data "$WORK/coordinator" --listen "127.0.0.1:$PORT" --http off >>"$WORK/coordinator.log" 2>&1 &
  COORDINATOR=$!
  disown  # Bash prints no message when it ends.
  until_true 20 listens "$lines" || die "the coordinator does not start: $(tail -n 3 "$WORK/coordinator.log")"
  PORT=$(sed -n 's/.*listens on 127\.0\.0\.1:\([0-9]*\) (gRPC).*/\1/p' "$WORK/coordinator.log" | tail -n 1)
  export BATON_COORDINATOR=127.0.0.1:$PORT
}

listens() { tail -n "+$(($1 + 1))" "$WORK/coordinator.log" 2>/dev/null | grep -q 'listens on'; }

kill_coordinator() {
  kill -KILL "$COORDINATOR"
  until_true 5 dead "$COORDINATOR"
}

# start_worker NAME [SLOTS]: starts a worker in the background.
start_worker() {
  "$BINARIES/baton-worker" --name "$1" --data "$WORK/$1" --slots "${2:-1}" >>"$WORK/$1.log" 2>&1 &
  WORKERS[$1]=$!
  disown
}

# kill_host NAME: kills supervisor, worker and commands at once, as if the host had lost its power.
kill_host() {
  kill_tree "${WORKERS[$1]}"
  unset "WORKERS[$1]"
}

# hosts_ready NUMBER: true if at least this number of hosts can take launches.
hosts_ready() { (($(baton hosts -o json 2>/dev/null | grep -c '"state": "ready"') >= $1)); }

baton() { "$BINARIES/baton" "$@"; }

# ---- Values from Baton's JSON of a request

# field NAME <JSON: prints a member of the outermost object, without quotes.
field() {
  sed -n "s/^  \"$1\": \"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}\$/\1/p" | head -n 1
}

# launches <JSON: prints a line for each launch: number, host, start, end, outcome, reason, first batch, batches. A null
# is printed as -.
launches() {
  awk '
    /^  "launchHistory": \[/ { inside = 1; next }
    inside && /^  \]/ { exit }
    inside && /^    \{/ { split("", value); next }
    inside && /^      "/ {
      name = $1; gsub(/[":]/, "", name)
      text = $0; sub(/^[^:]*: /, "", text); sub(/,$/, "", text); gsub(/^"|"$/, "", text)
      gsub(/\\n.*/, "", text); gsub(/[ \t]/, "_", text)
      value[name] = text == "null" || text == "" ? "-" : text
    }
    inside && /^    \}/ {
      print value["number"], value["host"], value["startedAt"], value["endedAt"], value["outcome"], value["reason"], \
        value["firstBatch"], value["batches"]
    }'
}

# partition BATCHES <LAUNCHES: prints nothing if the launches committed each of the batches 0 ..< BATCHES exactly once.
partition() {
  awk -v total="$1" '
    $7 != next_batch + 0 { print "launch " $1 " began with batch " $7 ", not with " next_batch + 0 }
    { next_batch = $7 + $8 }
    END { if (next_batch != total) print "the launches committed " next_batch + 0 " batches of " total }'
}
