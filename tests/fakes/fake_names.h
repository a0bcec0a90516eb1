/* SPDX-License-Identifier: MIT */
/* The module `threading` in the memory of a fake CPython, with threads that have names: what record/names reads. */
#ifndef PYREEL_TESTS_FAKES_FAKE_NAMES_H
#define PYREEL_TESTS_FAKES_FAKE_NAMES_H

#include "tests/fakes/fake_python.h"

#define FAKE_NAMED  8    /* most threads */
#define FAKE_NATIVE 4711 /* the kernel's number of the first thread; one more for each */

/* Where a Thread has its attributes: in an array, as the version has it; in a dict of its own that shares its keys with
 * the class; in a dict that has its keys. */
enum fake_attributes { FAKE_ARRAY, FAKE_SPLIT_DICT, FAKE_OWN_DICT, FAKE_ATTRIBUTES };

struct fake_names {
    uint64_t modules, module, active; /* dicts, and the object of the module between them */
    uint64_t dict_type, int_type, string_type, thread_type, thread_keys;
    struct {
        uint64_t object, name_at; /* name_at: address of the word that has the name */
    } threads[FAKE_NAMED];
    size_t count;
};

/* Makes the modules of the interpreter, `threading` among them, behind `others` other modules. */
struct fake_names fake_names_make(struct fake_python *p, size_t others);

/* Adds a Thread with this pthread_self(). */
void fake_names_add(struct fake_python *p, struct fake_names *names, uint64_t ident, const char *name,
                    enum fake_attributes attributes);

/* A dict of `count` str keys, at most 16. */
uint64_t fake_names_dict(struct fake_python *p, const struct fake_names *names, const char *const *keys,
                         const uint64_t *values, size_t count);
/* Adds a module that has this dict. */
void fake_names_module(struct fake_python *p, const struct fake_names *names, const char *name, uint64_t dict);
/* An object of a Python class whose attributes are in this dict. */
uint64_t fake_names_object(struct fake_python *p, const struct fake_names *names, uint64_t dict);

/* A str, or an int, with its type. */
uint64_t fake_names_string(struct fake_python *p, const struct fake_names *names, const char *text);
uint64_t fake_names_int(struct fake_python *p, const struct fake_names *names, uint64_t number);

#endif
