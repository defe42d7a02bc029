# What bash would offer behind each argument. The cursor stands at its end.
source "$(dirname "${BASH_SOURCE[0]}")/../../../tools/completion/etc.bash"
for line; do
  read -ra COMP_WORDS <<<"$line"
  COMP_LINE=$line COMP_POINT=${#line} COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  _etc "${COMP_WORDS[0]}"
  echo "$line: ${COMPREPLY[*]}"
done
