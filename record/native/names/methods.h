/* SPDX-License-Identifier: MIT */
/* The names under which Python knows the C functions of a module: list.sort, zlib.compress. CPython and its extensions
 * keep them in tables in their data, whether or not the module has symbols:
 *
 *     PyMethodDef   { name, function, flags, documentation }, ...
 *     owner         PyTypeObject { ..., tp_name, 25 words, tp_methods, ... }
 *                   PyModuleDef  { ..., m_name, m_doc, m_size, m_methods, ... }
 *                   PyType_Spec  { name, sizes, flags, slots }, whose slots have { Py_tp_methods, table }
 *
 * A row is found by its shape: its name lies in the module, its function in the module's code, its flags are those of
 * methods. So other tables of names and functions give names, too. Sources: Include/methodobject.h, moduleobject.h,
 * cpython/object.h, typeslots.h of CPython 3.11 to 3.15.
 *
 * The data is the program's, and is not trusted: sizes are bounded, and names are identifiers. */
#ifndef PYREEL_RECORD_NATIVE_NAMES_METHODS_H
#define PYREEL_RECORD_NATIVE_NAMES_METHODS_H

#include "record/native/names/image_file.h"

#define METHOD_NAME_MAX 160 /* bytes of "owner.name" */

struct method {
    uint64_t function, name; /* addresses in the process */
    uint32_t table;          /* index of its table */
};

/* `= {0}` has none. */
struct methods {
    struct method *rows; /* by function */
    size_t count, room;
    struct method_table {
        uint64_t begin; /* address in the process */
        uint64_t owner; /* address of the owner's name; 0: not known */
    } * tables;
    size_t tables_count, tables_room;
};

/* Reads the tables from the memory of the process. The image must stay open for methods_name(). */
void methods_read(struct methods *methods, const struct image_file *image);
void methods_free(struct methods *methods);

/* Writes the name of the function that begins at an address of the file. False: it is in no table. */
bool methods_name(const struct methods *methods, const struct image_file *image, uint64_t function,
                  char name[METHOD_NAME_MAX]);

#endif
