#!/usr/bin/env bash
# Makes the certificates and tokens of a small lab: one authority, certificates for server, workers and people.
#   deploy/certificates.sh FOLDER ca                          the authority: ca.pem, and ca.key, which stays here
#   deploy/certificates.sh FOLDER server HOST...              server.pem, server.key for these names and addresses
#   deploy/certificates.sh FOLDER read|submit|work|admin NAME ROLE-NAME.pem, ROLE-NAME.key for a person or a worker
#   deploy/certificates.sh FOLDER token ROLE NAME [DAY]       ROLE-NAME.token for its owner, a line in tokens for the server
#   deploy/certificates.sh FOLDER revoke [ROLE NAME|server]   crl.pem for all sides, with all certificates of that role and name, or of servers, so far
# DAYS says how long certificates are good, 90 by default; tokens end with DAY, written YYYY-MM-DD, or never. Running it
# again renews: files are replaced as a whole, so programs under way can follow them.
set -euo pipefail
umask 077

fail() {
  echo "certificates.sh: $*" >&2
  exit 2
}
usage() {
  sed -n '3,7p' "${BASH_SOURCE[0]}" | sed 's/^# *//' >&2
  exit 2
}
check_name() {
  [[ $1 =~ ^[A-Za-z0-9._@-]{1,64}$ ]] || fail "'$1' is no name: 1 to 64 letters, digits, '.', '_', '-', '@'"
}
check_role() {
  [[ $1 =~ ^(read|submit|work|admin)$ ]] || fail "'$1' is no role: read, submit, work or admin"
}

# replace NEW OLD: NEW takes the place of OLD, and its mode and owner: the server's user goes on reading it
replace() {
  if [[ -e $2 ]]; then
    chmod --reference="$2" "$1"
    ((EUID != 0)) || chown --reference="$2" "$1"
  fi
  mv "$1" "$2"
}

# certificate FILE SUBJECT NAMES USE: FILE.pem and FILE.key, signed by the authority
certificate() {
  [[ -f $folder/ca.key ]] || fail "there is no authority in $folder: run '$0 $folder ca' first"
  local work
  work=$(mktemp -d "$folder/new.XXXXXX")
  openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=$2" \
    -keyout "$work/key" -out "$work/request" 2>"$work/words" || fail "$(cat "$work/words")"
  printf 'subjectAltName=%s\nextendedKeyUsage=%s\nkeyUsage=digitalSignature\nbasicConstraints=CA:FALSE\n' "$3" "$4" >"$work/extensions"
  openssl x509 -req -in "$work/request" -CA "$folder/ca.pem" -CAkey "$folder/ca.key" -days "$days" -sha256 \
    -set_serial "0x$(openssl rand -hex 16)" -extfile "$work/extensions" -out "$work/pem" 2>"$work/words" || fail "$(cat "$work/words")"
  chmod 644 "$work/pem"
  mkdir -p "$folder/issued"
  cp "$work/pem" "$folder/issued/$(basename "$1")@$(openssl x509 -in "$work/pem" -noout -serial | cut -d= -f2).pem"
  replace "$work/key" "$1.key"
  mv "$work/pem" "$1.pem"
  rm -r "$work"
}

# authority ARGUMENT...: what the authority remembers of revoked certificates is in revoked.index
authority() {
  local words
  touch "$folder/revoked.index"
  printf '[ca]\ndefault_ca=lab\n[lab]\ndatabase=%s/revoked.index\ndefault_md=sha256\ndefault_crl_days=3650\nunique_subject=no\n' "$folder" >"$folder/revoked.conf"
  words=$(openssl ca -config "$folder/revoked.conf" -cert "$folder/ca.pem" -keyfile "$folder/ca.key" "$@" 2>&1) || fail "$words"
}

(($# >= 2)) || usage
folder=$1 what=$2
shift 2
days=${DAYS:-90}
mkdir -p "$folder"
case $what in
ca)
  [[ ! -e $folder/ca.key ]] || fail "$folder has an authority already; whoever it signed would be locked out by another"
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -sha256 -days "${CA_DAYS:-3650}" \
    -subj "/CN=mlc-tune lab authority" -addext 'basicConstraints=critical,CA:TRUE,pathlen:0' \
    -addext 'keyUsage=critical,keyCertSign,cRLSign' -keyout "$folder/ca.key" -out "$folder/ca.pem" 2>/dev/null
  chmod 644 "$folder/ca.pem"
  ;;
server)
  (($# >= 1)) || usage
  names=
  for host in "$@"; do
    if [[ $host =~ ^[0-9.]+$ || $host == *:* ]]; then names+=",IP:$host"; else check_name "$host" && names+=",DNS:$host"; fi
  done
  certificate "$folder/server" "${1:0:64}" "${names#,}" serverAuth
  ;;
read | submit | work | admin)
  (($# == 1)) || usage
  check_name "$1"
  certificate "$folder/$what-$1" "$1" "URI:spiffe://mlc/$what/$1" clientAuth
  ;;
token)
  (($# == 2 || $# == 3)) || usage
  check_role "$1"
  check_name "$2"
  token=$(openssl rand -hex 32)
  printf '%s\n' "$token" >"$folder/$1-$2.token"
  digest=$(printf '%s' "$token" | openssl dgst -sha256 -r)
  # As words, not as a pattern: names have dots. A line of before that has no end gets one.
  { [[ ! -f $folder/tokens ]] || awk -v whose="$1/$2" '$2 != whose' "$folder/tokens"; echo "${digest%% *} $1/$2${3:+ $3}"; } >"$folder/tokens.new"
  replace "$folder/tokens.new" "$folder/tokens"
  ;;
revoke)
  (($# == 0 || $# == 2)) || [[ $* == server ]] || usage
  [[ -f $folder/ca.key ]] || fail "there is no authority in $folder: run '$0 $folder ca' first"
  if (($# >= 1)); then
    if (($# == 2)); then check_role "$1" && check_name "$2"; fi
    whose=$1${2:+-$2}
    found=no
    for pem in "$folder/issued/$whose@"*.pem; do
      [[ -f $pem && ${pem#"$folder/issued/$whose@"} != *@* ]] || continue
      found=yes
      serial=${pem##*@}
      # Revoking twice is an error to openssl.
      grep -q "^R.*[[:space:]]${serial%.pem}[[:space:]]" "$folder/revoked.index" 2>/dev/null || authority -revoke "$pem"
    done
    [[ $found == yes ]] || fail "no certificate for $* was made in $folder"
  fi
  authority -gencrl -out "$folder/crl.new"
  chmod 644 "$folder/crl.new"
  mv "$folder/crl.new" "$folder/crl.pem"
  ;;
*) usage ;;
esac
