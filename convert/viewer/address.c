/* SPDX-License-Identifier: MIT */
#include "convert/viewer/address.h"

#include "formats/base/alloc.h"
#include "formats/base/text.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool address_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool address_is_name(char c)
{
    return address_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '.' || c == '_';
}

/* Whether each byte may stand in a request and on a terminal. */
static bool is_printable(const char *text)
{
    for (; *text; text++)
        if (*text <= ' ' || *text > '~' || strchr("\"<>\\^`{|}", *text))
            return false;
    return true;
}

/* The length of the host at the start of `text`: a name, or an address in brackets. 0: there is none. */
static size_t host_size(const char *text)
{
    size_t size = 0;
    if (*text == '[') {
        size = 1 + strspn(text + 1, "0123456789abcdefABCDEF:.");
        return size > 1 && text[size] == ']' ? size + 1 : 0;
    }
    while (address_is_name(text[size]))
        size++;
    return size;
}

/* The length of a port with its colon; 0: there is none. */
static size_t port_size(const char *text)
{
    size_t size = 1;
    unsigned long port = 0;
    if (*text != ':')
        return 0;
    for (; address_is_digit(text[size]) && size <= 5; size++)
        port = port * 10 + (unsigned long)(text[size] - '0');
    return port > 0 && port <= 65535 && !address_is_digit(text[size]) ? size : 0;
}

static bool address_ends_in(struct text text, struct text end)
{
    return text.size >= end.size && strncasecmp(text.bytes + text.size - end.size, end.bytes, end.size) == 0;
}

static bool is_loopback(struct text host)
{
    const bool named = address_ends_in(host, TEXT("localhost")) &&
                       (host.size == 9 || host.bytes[host.size - 10] == '.');
    const bool numbered = text_begins(host, TEXT("127.")) && strspn(host.bytes, "0123456789.") >= host.size;
    return named || numbered || text_equal(host, TEXT("[::1]"));
}

bool address_parse(struct address *address, const char *text, const char *what, struct fault *why)
{
    *address = (struct address){ .encrypted = strncasecmp(text, "https://", 8) == 0 };
    if (strlen(text) > ADDRESS_MOST)
        return fault(why, "%s has more than %zu characters", what, ADDRESS_MOST);
    if (!is_printable(text))
        return fault(why, "%s has a character that no URL has; write such a character as %%XX", what);
    if (!address->encrypted && strncasecmp(text, "http://", 7) != 0)
        return fault(why, "%s must begin with https:// or http://", what);
    const char *host = text + (address->encrypted ? 8 : 7);
    if (memchr(host, '@', strcspn(host, "/?#")))
        return fault(why, "%s must not hold a user name or a password", what);
    const size_t named = host_size(host), size = named + port_size(host + named);
    if (named == 0 || (host[size] && !strchr("/?#", host[size])))
        return fault(why, "%s names no host, or a port that is none: https://HOST[:PORT]/...", what);
    address->loopback = is_loopback((struct text){ host, named });
    address->origin_size = (size_t)(host - text) + size;
    address->url = alloc_copy(text, strlen(text));
    for (char *c = address->url; *c != ':'; c++) /* the scheme in small letters, so that equal addresses look equal */
        *c |= 0x20;
    return true;
}

bool address_parse_server(struct address *address, const char *text, const char *what, struct fault *why)
{
    if (!address_parse(address, text, what, why))
        return false;
    size_t size = strlen(address->url);
    if (strcspn(address->url, "?#") < size) {
        address_free(address);
        return fault(why, "%s must be the address of a server, without ? and #", what);
    }
    while (size > address->origin_size && address->url[size - 1] == '/')
        address->url[--size] = '\0';
    return true;
}

void address_free(struct address *address)
{
    free(address->url);
    *address = (struct address){ 0 };
}
