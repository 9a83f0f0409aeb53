// SPDX-License-Identifier: Apache-2.0
// The scripts that `mayfly completion SHELL` prints. They run `mayfly complete`, which knows the
// commands, options and keys, and quote its answer for their shell. A store may hold keys that
// somebody else chose, so a key must never reach the shell unquoted.

#pragma once

namespace mayfly {

inline constexpr const char* kBashCompletion =
    R"x(# bash completion of mayfly, printed by `mayfly completion bash`

# Splits a line as the shell will: into `words`, without their quotes; `quote` is the one that is
# open at the end, and `escape` a backslash with nothing behind it. Nothing in it is evaluated.
_mayfly_split() {
  local line=$1 letter next word='' is_begun='' i
  words=() quote='' escape=''
  for ((i = 0; i < ${#line}; i++)); do
    letter=${line:i:1} next=${line:i+1:1}
    if [[ $letter == "$quote" ]]; then
      quote=
    elif [[ $quote == "'" ]]; then
      word+=$letter
    elif [[ $letter == \\ && -z $next ]]; then
      escape=$letter
    elif [[ $letter == \\ && ( -z $quote || $next == [\\\"\$\`] ) ]]; then
      word+=$next
      ((i++))
    elif [[ -n $quote ]]; then
      word+=$letter
    elif [[ $letter == [\"\'] ]]; then
      quote=$letter
    elif [[ $letter == [[:space:]] ]]; then
      [[ -n $is_begun ]] && words+=("$word")
      word='' is_begun=''
      continue
    elif [[ $letter$next == '~/' && -z $is_begun ]]; then
      word+=$HOME
    else
      word+=$letter
    fi
    is_begun=yes
  done
  words+=("$word")
}

# Makes `rest` what is to be typed for it behind an open quote, or behind none.
_mayfly_quote() {
  local letter with
  if [[ $quote == "'" ]]; then
    with="'\\''"
    rest=${rest//"'"/"$with"}
  elif [[ $quote == '"' ]]; then
    for letter in \\ '"' '$' '`'; do
      with=\\$letter
      rest=${rest//"$letter"/"$with"}
    done
    with="\"'!'\""
    rest=${rest//'!'/"$with"}
  elif [[ -n $rest ]]; then
    printf -v rest %q "$rest"
  fi
}

# What was typed stays as it is, with its quotes; behind it comes what is missing.
_mayfly() {
  local words quote escape line rest typed=$2
  _mayfly_split "${COMP_LINE:0:COMP_POINT}"
  typed=${typed%"$escape"}
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ $line == :files ]]; then
      compopt -o default
    else
      line=${line%%$'\t'*}
      rest=${line:${#words[-1]}}
      _mayfly_quote
      COMPREPLY+=("$typed$rest")
    fi
  done < <(mayfly complete "${words[@]:1}" 2>/dev/null)
}
COMP_WORDBREAKS=${COMP_WORDBREAKS//:}
complete -F _mayfly mayfly
)x";
inline constexpr const char* kZshCompletion = R"(#compdef mayfly
# zsh completion of mayfly, printed by `mayfly completion zsh`
_mayfly() {
  local line word
  local -a words_typed words_found
  for word in "${(@)words[2,CURRENT]}"; do
    [[ $word == '~/'* ]] && word=$HOME${word#'~'}
    [[ $word == [\"\']* && ${(Q)word} == $word ]] && word+=${word[1]}  # its end is still to come
    words_typed+=("${(Q)word}")
  done
  for line in "${(@f)$(mayfly complete "${(@)words_typed}" 2>/dev/null)}"; do
    [[ -z $line ]] && continue
    if [[ $line == :files ]]; then
      [[ $words[CURRENT] == --*=* ]] && compset -P '*='
      _files
      continue
    fi
    word=${line%%$'\t'*}
    word=${word//\\/\\\\}
    words_found+=("${word//:/\\:}:${line#*$'\t'}")
  done
  (( $#words_found )) && _describe mayfly words_found
}
if [[ $funcstack[1] == _mayfly ]]; then _mayfly "$@"; else compdef _mayfly mayfly; fi
)";
inline constexpr const char* kFishCompletion =
    R"(# fish completion of mayfly, printed by `mayfly completion fish`
function __mayfly_complete
  set -l typed (commandline -ct)
  for quote in "" "'" '"' # the one that is still to come
    set -l word (string unescape -- "$typed$quote"); and set typed $word; and break
  end
  set -l words (commandline -opc) "$typed"
  set -l option (string match -r -- '^--[^=]*=' "$words[-1]")
  for line in (mayfly complete $words[2..-1] 2>/dev/null)
    if test "$line" = ":files"
      set -l begun (string replace -- "$option" "" "$words[-1]")
      for path in (__fish_complete_path $begun)
        echo "$option$path"
      end
    else
      echo $line
    end
  end
end
complete -c mayfly -f -a '(__mayfly_complete)'
)";

}  // namespace mayfly
