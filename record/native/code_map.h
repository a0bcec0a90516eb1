/* SPDX-License-Identifier: MIT */
/* The code map knows the C code of a process by address: the module (a program or library), the rule that finds the
 * caller, and the function. A place is made when its address is first met, and remembered.
 *
 *     pc ─▶ module ─▶ .eh_frame: rule, start of the function
 *                  ├▶ tables of methods: the name that Python has for it, list.sort
 *                  └▶ symbol tables: that of the linker; else the start of the function, libz.so.1.2.13+0x5d80
 *     code of no file ─▶ /tmp/perf-PID.map: what a just-in-time compiler calls it
 *
 * All of it is read from files, or from the process while it runs: never from a post. */
#ifndef PYREEL_RECORD_NATIVE_CODE_MAP_H
#define PYREEL_RECORD_NATIVE_CODE_MAP_H

#include "formats/intern/intern.h"
#include "record/emit/definitions.h"
#include "record/native/cfi.h"
#include "record/native/names/methods.h"
#include "record/native/names/perf_map.h"
#include "record/native/names/symbols.h"

/* A program or library that is mapped. */
struct code_module {
    struct image mapped;
    uint64_t low, high; /* addresses in the process; high: behind the last byte */
    bool opened;        /* the four below are set */
    bool usable;        /* its head could be read */
    struct image_file image;
    struct cfi cfi;
    struct methods methods;
    struct symbols symbols;
    uint32_t name; /* index of its path in the definitions */
};

/* An address in code. Addresses of calls are those of the call's last byte. */
struct code_place {
    uint64_t pc;
    bool in_module, ruled; /* `ruled`: the rule is set. Its addresses are those of the file */
    bool trampoline;       /* a call in one of those that CPython makes for each Python function (-X perf) */
    struct cfi_rule rule;
    uint32_t frame; /* index in the definitions; 0: not asked for yet */
    uint32_t module;
};

/* `= {0}`, and call code_map_open(). */
struct code_map {
    struct remote *remote;
    struct definitions *definitions;
    bool waits;    /* set after opening: large symbol tables are read at once */
    uint64_t vdso; /* address of the code that the kernel lends; 0: none is known */
    struct code_module *modules;
    size_t modules_count, modules_room;
    struct perf_map jit;     /* code of no file */
    uint64_t jit_read_ns;    /* listed_ns of the last time that new lines were looked for */
    uint64_t listed_ns;      /* when the modules were listed last (monotonic); 0: never */
    bool unknown;            /* an address was in none of them since */
    bool unnamed;            /* an address has no name yet, for symbols are still being read */
    uint32_t edition;        /* goes up when addresses of before may be in other functions, or have other names */
    struct intern_pairs ids; /* (high half, low half of the pc) -> index of the place + 1 */
    struct code_place **places;
    size_t places_count, places_room;
    uint64_t named, nameless; /* places that were asked for their frame: with a name, and without */
};

/* `remote` and `definitions` must live as long. */
void code_map_open(struct code_map *map, struct remote *remote, struct definitions *definitions);
void code_map_close(struct code_map *map);

/* Lists the modules when that is due, and forgets places when there are too many, or when a module is new or is not
 * there any more. Call it before a stack is unwound: places from before may be invalid afterwards. Returns whether it
 * knows more than before. */
bool code_map_refresh(struct code_map *map, uint64_t now_ns);

/* Whether the next code_map_refresh() may know more of an address that was asked for. */
static inline bool code_map_expects(const struct code_map *map)
{
    return map->unknown || map->unnamed;
}

/* The place at an address. Valid until the next code_map_refresh(). */
struct code_place *code_map_find(struct code_map *map, uint64_t pc);

/* The index of the place's frame in the definitions: function, module and address. */
uint32_t code_map_frame(struct code_map *map, struct code_place *place);

/* Whether an address is in a module's code, as far as the modules are known. */
bool code_map_has(const struct code_map *map, uint64_t address);

#endif
