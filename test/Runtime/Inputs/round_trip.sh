# There and back again: round_trip.sh THERE BACK MODEL.json
# The state of configuration THERE in files becomes BACK's, box by box, and THERE's again. A plan may give the roles to
# other devices, so a last plan that moves nothing brings them home; then all files are what they were, byte for byte.
set -eu
there=$1 back=$2 model=$3
plan() {
  printf '{"model": %s, "prev": "%s", "curr": "%s", "cluster": {"nodes": [4, 4]}}' "$(cat "$model")" "$1" "$2" >request.json
  etc-opt request.json --quiet --emit="$3" -o "$4"
}
plan "$there" "$there" plan home.etcplan
plan "$there" "$back" plan there.etcplan
plan "$there" "$back" json there.json
plan "$back" "$there" plan back.etcplan
etc-write-checkpoint there.etcplan checkpoint
convert() {
  etc-run --in="$1" --out="$2" "$3" >log || { cat log; exit 1; }
}
convert checkpoint first home.etcplan
convert first second there.etcplan
convert second third back.etcplan
convert third last home.etcplan
diff -r first last
# What was read from the files is what the formula says, after a migration that only a formula began.
etc-run --out=formula there.etcplan >log || { cat log; exit 1; }
diff -r second formula
# And a migration by messages makes the same of the files.
etc-run --in=first there.etcplan >log || { cat log; exit 1; }
grep -q '^verified' log
