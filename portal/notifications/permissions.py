"""The rules of this room's routes."""

from portal.teams.permissions import DECIDE, Rule, organisation, signed_in

RULES: dict[str, Rule] = {
    "notifications:inbox": signed_in(),
    "notifications:read": signed_in(),
    "notifications:settings": signed_in(),
    "notifications:hooks": organisation(read=DECIDE, write=DECIDE),
    "notifications:retire-hook": organisation(read=DECIDE, write=DECIDE),
    "notifications:outbox": organisation(read=DECIDE, write=DECIDE),
    "notifications:try-again": organisation(read=DECIDE, write=DECIDE),
    "api-outbox-list": organisation(read=DECIDE),
    "api-outbox-again": organisation(read=DECIDE, write=DECIDE),
    "api-notification-list": signed_in(),
    "api-notification-read": signed_in(),
    "api-wishes-detail": signed_in(),
    "api-hook-list": organisation(read=DECIDE, write=DECIDE),
    "api-hook-retire": organisation(read=DECIDE, write=DECIDE),
}
