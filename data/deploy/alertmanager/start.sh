#!/bin/sh
# Writes Alertmanager's configuration from settings, and becomes Alertmanager. Its one receiver, `on-call`, gets every
# alert; those with the severity `page` at once. At least one of these two has to be set:
#   ALERT_WEBHOOK_URL   gets each group of alerts as JSON (POST), as services for people on call take it
#   ALERT_MAIL_TO       an address, or several with commas between; with it also
#   ALERT_MAIL_FROM, ALERT_SMTP (host:port), and where the server wants them ALERT_SMTP_USER and ALERT_SMTP_PASSWORD_FILE;
#   ALERT_SMTP_TLS=off  for a mail server on this machine without TLS
# And the dead man's switch: a service elsewhere that rings when it has heard nothing for five minutes.
#   ALERT_WATCHDOG_URL  gets a POST every minute while Prometheus evaluates rules and Alertmanager sends
# ALERTMANAGER is the program, ALERTMANAGER_CONFIG the file to write; arguments are passed on to the program.
set -eu
config=${ALERTMANAGER_CONFIG:-/tmp/alertmanager.yml}
refuse() { echo "error: $1" >&2; exit 78; }
quoted() { printf "'%s'" "$(printf %s "$1" | sed "s/'/''/g")"; }
[ -n "${ALERT_WEBHOOK_URL:-}${ALERT_MAIL_TO:-}" ] || refuse 'set ALERT_WEBHOOK_URL or ALERT_MAIL_TO: alerts reach no one'
[ -n "${ALERT_WATCHDOG_URL:-}" ] || echo 'warning: ALERT_WATCHDOG_URL is not set: nobody hears when this falls silent' >&2
umask 077
# The sh of Alertmanager's image goes on when a redirection fails.
touch "$config" || refuse "cannot write $config"
{
  cat << END
route:
  receiver: on-call
  group_by: [alertname, instance]
  group_wait: 30s
  group_interval: 5m
  repeat_interval: 12h
  routes:
    - matchers: ['alertname="Watchdog"']
      receiver: watchdog
      group_wait: 0s
      group_interval: 1m
      repeat_interval: 1m
    - matchers: ['severity="page"']
      group_wait: 5s
      group_interval: 1m
      repeat_interval: 1h
inhibit_rules:
  # An exchange that does not answer is one page.
  - source_matchers: ['alertname="ExchangeDown"']
    target_matchers: ['severity="ticket"']
    equal: [instance]
  # Without a shard the exchange is not ready; that one is away says more.
  - source_matchers: ['alertname="ShardAway"']
    target_matchers: ['alertname="ExchangeNotReady"']
    equal: [instance]
receivers:
  - name: watchdog
END
  if [ -n "${ALERT_WATCHDOG_URL:-}" ]; then
    printf "    webhook_configs:\n      - send_resolved: false\n        url: %s\n" "$(quoted "$ALERT_WATCHDOG_URL")"
  fi
  echo '  - name: on-call'
  if [ -n "${ALERT_WEBHOOK_URL:-}" ]; then
    printf "    webhook_configs:\n      - send_resolved: true\n        url: %s\n" "$(quoted "$ALERT_WEBHOOK_URL")"
  fi
  if [ -n "${ALERT_MAIL_TO:-}" ]; then
    [ -n "${ALERT_MAIL_FROM:-}" ] && [ -n "${ALERT_SMTP:-}" ] || refuse 'ALERT_MAIL_TO needs ALERT_MAIL_FROM and ALERT_SMTP'
    tls=true
    [ "${ALERT_SMTP_TLS:-on}" = on ] || tls=false
    printf "    email_configs:\n      - send_resolved: true\n        require_tls: %s\n" "$tls"
    printf "        to: %s\n        from: %s\n" "$(quoted "$ALERT_MAIL_TO")" "$(quoted "$ALERT_MAIL_FROM")"
    printf "        smarthost: %s\n" "$(quoted "$ALERT_SMTP")"
    if [ -n "${ALERT_SMTP_USER:-}" ]; then
      password=$(cat "${ALERT_SMTP_PASSWORD_FILE:?ALERT_SMTP_USER needs ALERT_SMTP_PASSWORD_FILE}")
      printf "        auth_username: %s\n        auth_password: %s\n" "$(quoted "$ALERT_SMTP_USER")" "$(quoted "$password")"
    fi
  fi
} > "$config"
exec "${ALERTMANAGER:-alertmanager}" --config.file="$config" "$@"
