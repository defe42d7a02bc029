# Completion of etc-opt and etc-run for bash: options and their values from --help of the program itself, so that it
# never lags behind. Source this file, or install it as bash-completion does.

_etc_values() { # PROGRAM OPTION: the values that the help lists
  "$1" --help 2>/dev/null | awk -v option="$2" '
    $1 ~ "^" option "=" {
      found = 1
      value = substr($1, length(option) + 2)
      gsub(/[<>]/, "", value)
      if (value ~ /^[a-z0-9-]+(\|[a-z0-9-]+)+$/) { gsub(/\|/, "\n", value); print value }
      next
    }
    found && $1 ~ /^=/ { print substr($1, 2); next }
    { found = 0 }'
}

_etc() {
  local program=$1 word=${COMP_LINE:0:COMP_POINT}
  word=${word##*[[:space:]]}
  COMPREPLY=()
  case $word in
  --*=*)
    local option=${word%%=*} value=${word#*=}
    mapfile -t COMPREPLY < <(compgen -W "$(_etc_values "$program" "$option")" -- "$value")
    [ ${#COMPREPLY[@]} -gt 0 ] || mapfile -t COMPREPLY < <(compgen -f -- "$value")
    # Readline takes "=" for the end of a word, unless it has been told not to.
    case $COMP_WORDBREAKS in
    *=*) ;;
    *) COMPREPLY=("${COMPREPLY[@]/#/$option=}") ;;
    esac
    ;;
  -*)
    mapfile -t COMPREPLY < <(compgen -W "$("$program" --help 2>/dev/null |
      sed -nE 's/^  (--[a-z-]+)(=?).*/\1\2/p')" -- "$word")
    [[ ${#COMPREPLY[@]} -ne 1 || ${COMPREPLY[0]} != *= ]] || compopt -o nospace 2>/dev/null
    ;;
  *)
    local verbs=
    [[ ${program##*/} != etc-run || $COMP_CWORD -ne 1 ]] || verbs="resume rollback status inventory"
    mapfile -t COMPREPLY < <(compgen -W "$verbs" -- "$word"; compgen -f -- "$word")
    ;;
  esac
}

complete -o filenames -F _etc etc-opt etc-run
