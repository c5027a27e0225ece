# Sourced by the demo and by the tests against real tracing backends (bash). Everything that is started here is known by its process id, and
# nothing else is ever signalled; everything that is written lies in $WORK, a temporary folder.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# The binaries to run: those of `make release`, unless BINARIES names another folder.
BINARIES=${BINARIES:-$ROOT/.build/release}
COORDINATOR=''
LEASE=${LEASE:-15s}
declare -A WORKERS=()

die() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

# begin: makes $WORK and sees to it that everything ends with this script, however that ends.
begin() {
  local name
  for name in baton baton-worker; do
    [[ -x $BINARIES/$name ]] || die "there is no $BINARIES/$name: run make release first"
  done
  # Nothing of whoever runs this: no settings, no other coordinator.
  for name in "${!BATON_@}"; do unset "$name"; done
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

# ---- Processes, without ps: a minimal system has none.

# children_of PID: its children, one a line.
children_of() {
  local stat line fields
  for stat in /proc/[0-9]*/stat; do
    { IFS= read -r line <"$stat"; } 2>/dev/null || continue
    # After the name in parentheses, which may hold anything: the state, then the parent.
    read -ra fields <<<"${line##*) }"
    [[ ${fields[1]} == "$1" ]] && printf '%s\n' "${line%% *}"
  done
  return 0
}

# tree_of PID: the process and all its descendants.
tree_of() {
  local child
  printf '%s\n' "$1"
  for child in $(children_of "$1"); do tree_of "$child"; done
}

# alive PID: it runs. A zombie does not.
alive() {
  local line
  { IFS= read -r line <"/proc/$1/stat"; } 2>/dev/null || return 1
  line=${line##*) }
  [[ ${line%% *} != [ZX] ]]
}

dead() { ! alive "$1"; }

# kill_tree PID: SIGKILL for the process and all its descendants, at once.
kill_tree() {
  # shellcheck disable=SC2046
  kill -KILL $(tree_of "$1") 2>/dev/null || true
  until_true 5 dead "$1"
}

# kill_strays: what a killed worker left and no successor found. Known by the folder in its environment.
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

# now: milliseconds since 1970.
now() {
  local time=${EPOCHREALTIME/[.,]/}
  printf '%s' "${time%???}"
}

# pause MILLISECONDS
pause() { sleep "$(printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)))"; }

# until_true SECONDS COMMAND...: false if the command does not succeed in that time.
until_true() {
  local deadline=$(($(now) + $1 * 1000))
  shift
  until "$@"; do
    (($(now) < deadline)) || return 1
    sleep 0.05
  done
}

# ---- Coordinator and workers

# start_coordinator: on a free port the first time, then on the same port and the same data.
start_coordinator() {
  local lines=0
  [[ -f $WORK/coordinator.log ]] && lines=$(wc -l <"$WORK/coordinator.log")
  BATON_LEASE_TERM=$LEASE "$BINARIES/baton" coordinator \
    --data "$WORK/coordinator" --listen "127.0.0.1:$PORT" --http off >>"$WORK/coordinator.log" 2>&1 &
  COORDINATOR=$!
  disown  # Its end is nothing that bash should remark on.
  until_true 20 listens "$lines" || die "the coordinator does not start: $(tail -n 3 "$WORK/coordinator.log")"
  PORT=$(sed -n 's/.*listens on 127\.0\.0\.1:\([0-9]*\) (gRPC).*/\1/p' "$WORK/coordinator.log" | tail -n 1)
  export BATON_COORDINATOR=127.0.0.1:$PORT
}

listens() { tail -n "+$(($1 + 1))" "$WORK/coordinator.log" 2>/dev/null | grep -q 'listens on'; }

kill_coordinator() {
  kill -KILL "$COORDINATOR"
  until_true 5 dead "$COORDINATOR"
}

# start_worker NAME [SLOTS]
start_worker() {
  "$BINARIES/baton-worker" --name "$1" --data "$WORK/$1" --slots "${2:-1}" >>"$WORK/$1.log" 2>&1 &
  WORKERS[$1]=$!
  disown
}

# kill_host NAME: supervisor, worker and commands, all at once, as if the host had lost power.
kill_host() {
  kill_tree "${WORKERS[$1]}"
  unset "WORKERS[$1]"
}

# hosts_ready NUMBER: so many hosts can take launches.
hosts_ready() { (($(baton hosts -o json 2>/dev/null | grep -c '"state": "ready"') >= $1)); }

baton() { "$BINARIES/baton" "$@"; }

# ---- What Baton says of a request, from its JSON

# field NAME <JSON: a member of the outermost object, without its quotes.
field() {
  sed -n "s/^  \"$1\": \"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}\$/\1/p" | head -n 1
}

# launches <JSON: a line for each launch: number, host, start, end, outcome, reason, first batch, batches; - for null.
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

# partition BATCHES <LAUNCHES: says nothing if the launches committed the batches 0 ..< BATCHES, each exactly once.
partition() {
  awk -v total="$1" '
    $7 != next_batch + 0 { print "launch " $1 " began with batch " $7 ", not with " next_batch + 0 }
    { next_batch = $7 + $8 }
    END { if (next_batch != total) print "the launches committed " next_batch + 0 " batches of " total }'
}
