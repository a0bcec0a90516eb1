/* SPDX-License-Identifier: MIT */
#include "record/python/exc_state.h"

#include <string.h>

#define ITEMS_LIMIT 256 /* nested running generators */

static bool is_none_type(const struct layout *l, struct remote *remote, uint64_t type)
{
    static const char wanted[] = "NoneType";
    uint64_t name;
    char text[sizeof(wanted)];
    return remote_read(remote, type + l->type_name, &name, sizeof(name)) == REMOTE_READ &&
           remote_read(remote, name, text, sizeof(text)) == REMOTE_READ && memcmp(text, wanted, sizeof(wanted)) == 0;
}

static bool is_exception(struct handlers *handlers, const struct layout *l, struct remote *remote, uint64_t value)
{
    uint64_t type;
    if (value == 0 || value == handlers->none)
        return false;
    if (value == handlers->exception || handlers->none)
        return true;
    if (remote_read(remote, value + l->object_type, &type, sizeof(type)) != REMOTE_READ)
        return false;
    if (is_none_type(l, remote, type)) {
        handlers->none = value;
        return false;
    }
    handlers->exception = value;
    return true;
}

bool exc_state_active(struct handlers *handlers, const struct layout *l, struct remote *remote, uint64_t thread,
                      const unsigned char *state)
{
    if (word_at(state, l->thread_exception) != 0)
        return true;
    uint64_t item = word_at(state, l->thread_exc_info);
    for (int i = 0; item && i < ITEMS_LIMIT; i++) {
        uint64_t words[2]; /* value, previous */
        const bool own = item == thread + l->thread_handler;
        if (own)
            memcpy(words, state + l->thread_handler, sizeof(words));
        else if (remote_read(remote, item, words, sizeof(words)) != REMOTE_READ)
            return false;
        if (is_exception(handlers, l, remote, words[0]))
            return true;
        item = own ? 0 : words[1];
    }
    return false;
}
