/* SPDX-License-Identifier: MIT */
/* Two functions or frames are the same when all of their members are equal but the number. Strings are numbers, so both
 * have to come from one set of strings.
 *
 *     known_function(&functions, &f, &added)    the number of f among those that were asked for; added: f is new */
#ifndef PYREEL_FORMATS_MODEL_KNOWN_H
#define PYREEL_FORMATS_MODEL_KNOWN_H

#include "formats/intern/intern.h"
#include "formats/model/event.h"

/* The key is the bytes behind the number, so nothing may lie between the members. */
_Static_assert(sizeof(struct function) == 6 * sizeof(uint32_t) + sizeof(uint64_t), "a function has padding");
_Static_assert(sizeof(struct frame) == 10 * sizeof(uint32_t) + sizeof(uint64_t), "a frame has padding");

static inline uint32_t known_function(struct intern *functions, const struct function *function, bool *added)
{
    return intern_number(functions, &function->name, sizeof(*function) - offsetof(struct function, name), added);
}

static inline uint32_t known_frame(struct intern *frames, const struct frame *frame, bool *added)
{
    return intern_number(frames, &frame->function, sizeof(*frame) - offsetof(struct frame, function), added);
}

/* Whether two notes tell the same of a module. */
static inline bool known_same_module(const struct module *a, const struct module *b)
{
    return text_equal(a->build_id, b->build_id) && a->code_begin == b->code_begin && a->code_size == b->code_size &&
           a->code_offset == b->code_offset && a->begin == b->begin;
}

/* known_function_find() and known_frame_find() add nothing, and return 0 for what is not known. */
static inline uint32_t known_function_find(const struct intern *functions, const struct function *function)
{
    return intern_find(functions, &function->name, sizeof(*function) - offsetof(struct function, name));
}

static inline uint32_t known_frame_find(const struct intern *frames, const struct frame *frame)
{
    return intern_find(frames, &frame->function, sizeof(*frame) - offsetof(struct frame, function));
}

#endif
