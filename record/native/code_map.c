/* SPDX-License-Identifier: MIT */
#include "record/native/code_map.h"

#include "formats/base/alloc.h"
#include "formats/base/utf8.h"
#include "record/elf/elf.h"
#include "record/native/names/debug_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLACES_LIMIT  32768u /* a large program has some thousands */
#define MODULES_LIMIT 8192
#define LIST_NS       1000000000u /* the modules are listed so often while samples come, ... */
#define LIST_LEAST_NS 50000000u   /* ... and at most so often when an address is in none of them */
#define JIT_PIECES    16          /* of the file of a just-in-time compiler, read at once */
#define NAME_ROOM     4096        /* bytes of a function's name; those of some templates are longer, and are cut */

/* ---- modules ---- */

static void module_close(struct code_module *module)
{
    symbols_free(&module->symbols); /* first: a thread may read the file */
    methods_free(&module->methods);
    image_file_close(&module->image);
    free(module->mapped.path);
    *module = (struct code_module){ 0 };
}

/* Notes what outputs need to find code of the module in its file. */
static void describe_module(struct code_map *map, const struct code_module *module, const char *build_id)
{
    struct module told = { .path = module->name, .build_id = text_of(build_id) };
    bool loaded = false;
    for (size_t i = 0; i < module->image.segments_count; i++) {
        const Elf64_Phdr *segment = &module->image.segments[i];
        const bool code = segment->p_type == PT_LOAD && segment->p_flags & PF_X;
        if (segment->p_type == PT_LOAD && !loaded)
            told.begin = segment->p_vaddr - segment->p_offset;
        loaded |= segment->p_type == PT_LOAD;
        if (code && told.code_size == 0) {
            told.code_begin = segment->p_vaddr;
            told.code_offset = segment->p_offset;
        }
        if (code && segment->p_vaddr >= told.code_begin)
            told.code_size = segment->p_vaddr + segment->p_memsz - told.code_begin;
    }
    definitions_module(map->definitions, &told);
}

/* Opens a module when the first address in it is asked for. */
static void module_open(struct code_map *map, struct code_module *module)
{
    if (module->opened)
        return;
    module->opened = true;
    module->usable = image_file_open(&module->image, map->remote, &module->mapped);
    if (!module->usable)
        return;
    cfi_open(&module->cfi, &module->image);
    methods_read(&module->methods, &module->image);
    const char *path = module->mapped.path;
    unsigned char id[ELF_BUILD_ID_MAX];
    char build_id[ELF_BUILD_ID_TEXT];
    elf_build_id_text(id, elf_build_id(map->remote, module->mapped.address, id), build_id);
    if (module->image.file >= 0)
        symbols_begin(&module->symbols, module->image.file,
                      debug_file_open(map->remote->pid, path, module->image.file, build_id));
    const struct text clean = utf8_clean((struct text){ path, strlen(path) });
    module->name = definitions_string(map->definitions, clean);
    text_free(clean);
    describe_module(map, module, build_id);
}

/* Sets the range of a module. The head of an image is mapped, the rest follows; the segments say how far. */
static bool find_range(struct code_map *map, struct code_module *module)
{
    Elf64_Phdr segments[IMAGE_SEGMENTS];
    uint64_t bias;
    const size_t count = elf_segments(map->remote, module->mapped.address, segments, IMAGE_SEGMENTS, &bias);
    module->low = module->mapped.address;
    module->high = 0;
    for (size_t i = 0; i < count; i++) {
        const uint64_t end = segments[i].p_vaddr + segments[i].p_memsz + bias;
        if (segments[i].p_type == PT_LOAD && end > module->high)
            module->high = end;
    }
    return module->high > module->low;
}

static struct code_module *module_at(const struct code_map *map, uint64_t address)
{
    for (size_t i = 0; i < map->modules_count; i++)
        if (address - map->modules[i].low < map->modules[i].high - map->modules[i].low)
            return &map->modules[i];
    return NULL;
}

static void forget_places(struct code_map *map)
{
    for (size_t i = 0; i < map->places_count; i++)
        free(map->places[i]);
    map->places_count = 0;
    intern_pairs_free(&map->ids);
}

static bool same_image(const struct image *a, const struct image *b)
{
    return a->address == b->address && a->device == b->device && a->inode == b->inode;
}

/* Keeps the modules that are still mapped. Returns whether one was not. */
static bool keep_mapped(struct code_map *map, const struct images *images)
{
    size_t kept = 0;
    for (size_t i = 0; i < map->modules_count; i++) {
        struct code_module *module = &map->modules[i];
        bool there = module->mapped.inode == 0; /* the kernel's */
        for (size_t k = 0; k < images->count && !there; k++)
            there = same_image(&module->mapped, &images->rows[k]);
        if (!there) {
            module_close(module);
            continue;
        }
        if (kept < i)
            map->modules[kept] = *module;
        map->modules[kept].cfi.image = &map->modules[kept].image;
        kept++;
    }
    const bool lost = kept < map->modules_count;
    map->modules_count = kept;
    return lost;
}

/* Adds a module unless it is known. Takes the path. */
static void map_add_module(struct code_map *map, struct image *image)
{
    for (size_t i = 0; i < map->modules_count; i++)
        if (same_image(&map->modules[i].mapped, image))
            return;
    struct code_module module = { .mapped = *image };
    if (map->modules_count >= MODULES_LIMIT || !find_range(map, &module))
        return;
    image->path = NULL;
    map->modules = alloc_grow(map->modules, &map->modules_room, map->modules_count + 1, sizeof(*map->modules));
    map->modules[map->modules_count++] = module;
    for (size_t i = 0; i < map->modules_count; i++) /* the rows may have moved */
        map->modules[i].cfi.image = &map->modules[i].image;
}

/* Returns whether a module is new. */
static bool list_modules(struct code_map *map, uint64_t now_ns)
{
    struct images images;
    map->listed_ns = now_ns;
    if (!images_of(map->remote, &images))
        return false;
    bool changed = keep_mapped(map, &images);
    const size_t before = map->modules_count;
    for (size_t i = 0; i < images.count; i++)
        map_add_module(map, &images.rows[i]);
    procfs_images_free(&images);
    if (map->vdso) {
        struct image kernels = { .address = map->vdso, .path = alloc_copy("[vdso]", strlen("[vdso]")) };
        map_add_module(map, &kernels);
        free(kernels.path);
    }
    changed |= map->modules_count > before; /* an address that was in no module may be in one now */
    if (changed) {
        forget_places(map);
        map->edition++;
    }
    return map->modules_count > before;
}

/* Whether all symbols that were being read are there. */
static bool are_named(struct code_map *map)
{
    bool named = true;
    for (size_t i = 0; i < map->modules_count; i++)
        if (map->modules[i].opened)
            named &= symbols_ready(&map->modules[i].symbols);
    return named;
}

void code_map_open(struct code_map *map, struct remote *remote, struct definitions *definitions)
{
    *map = (struct code_map){ .remote = remote, .definitions = definitions };
    map->vdso = remote->kind ? 0 : procfs_vdso(remote->pid);
}

void code_map_close(struct code_map *map)
{
    forget_places(map);
    perf_map_close(&map->jit);
    for (size_t i = 0; i < map->modules_count; i++)
        module_close(&map->modules[i]);
    free(map->modules);
    free(map->places);
    *map = (struct code_map){ 0 };
}

/* Reads what just-in-time compilers have written since. Code of theirs may have been replaced. */
static void read_jit(struct code_map *map)
{
    bool more = false;
    map->jit_read_ns = map->listed_ns;
    if (map->remote->kind || !perf_map_open(&map->jit, map->remote->pid))
        return;
    for (int i = 0; i < JIT_PIECES && perf_map_read(&map->jit); i++)
        more = true;
    map->edition += more;
    for (size_t i = 0; more && i < map->places_count; i++)
        if (!map->places[i]->in_module)
            map->places[i]->frame = 0;
}

bool code_map_refresh(struct code_map *map, uint64_t now_ns)
{
    const uint64_t due_ns = map->unknown ? LIST_LEAST_NS : LIST_NS;
    bool more = false;
    if (map->places_count > PLACES_LIMIT)
        forget_places(map);
    if (map->listed_ns == 0 || now_ns - map->listed_ns > due_ns) {
        more = list_modules(map, now_ns);
        map->unknown = false;
    }
    if (map->jit.there && map->jit_read_ns != map->listed_ns)
        read_jit(map);
    if (map->unnamed && are_named(map)) {
        map->unnamed = false;
        map->edition++;
    }
    return more;
}

bool code_map_has(const struct code_map *map, uint64_t address)
{
    return module_at(map, address) != NULL;
}

/* ---- trampolines ---- */

/* With -X perf, CPython makes a piece of code for each Python function, through which it is entered. It has no table,
 * but it is known by its bytes (Python/asm_trampoline.S of CPython 3.12 and 3.13); one word lies below its return
 * address. `pc` is the last byte of the call. */
static bool is_trampoline(const struct code_map *map, uint64_t pc)
{
    static const unsigned char
        plain[] = { 0x48, 0x83, 0xec, 8, 0xff, 0xd1, 0x48, 0x83, 0xc4, 8, 0xc3 }, /* sub $8, %rsp; call *%rcx; add; ret
                                                                                   */
        pushed[] = {
            0x55, 0x48, 0x89, 0xe5, 0xff, 0xd1, 0x5d, 0xc3
        }; /* push %rbp; mov %rsp, %rbp; call *%rcx; pop; ret */
    unsigned char bytes[sizeof(plain)];
    return remote_read(map->remote, pc - 5, bytes, sizeof(bytes)) == REMOTE_READ &&
           (memcmp(bytes, plain, sizeof(plain)) == 0 || memcmp(bytes, pushed, sizeof(pushed)) == 0);
}

/* ---- places ---- */

static struct code_place *make_place(struct code_map *map, uint64_t pc)
{
    struct code_place *place = alloc_zeroed(1, sizeof(*place));
    struct code_module *module = map->places_count < 2 * PLACES_LIMIT ? module_at(map, pc) : NULL;
    place->pc = pc;
    place->trampoline = !module && is_trampoline(map, pc);
    map->unknown |= !module && !place->trampoline;
    if (!module)
        return place;
    module_open(map, module);
    place->in_module = module->usable;
    place->module = (uint32_t)(module - map->modules);
    place->ruled = module->usable && module->cfi.count > 0 &&
                   cfi_find(&module->cfi, pc - module->image.bias, &place->rule);
    return place;
}

struct code_place *code_map_find(struct code_map *map, uint64_t pc)
{
    const uint32_t high = (uint32_t)(pc >> 32), low = (uint32_t)pc;
    const uint32_t known = intern_pairs_find(&map->ids, high, low);
    if (known)
        return map->places[known - 1];
    map->places = alloc_grow(map->places, &map->places_room, map->places_count + 1, sizeof(*map->places));
    map->places[map->places_count++] = make_place(map, pc);
    intern_pairs_add(&map->ids, high, low, (uint32_t)map->places_count);
    return map->places[map->places_count - 1];
}

/* ---- names ---- */

/* Defines the frame of an address in the function that begins at `start`. */
static uint32_t define_place(struct code_map *map, struct text name, uint32_t module, uint64_t start, uint64_t address)
{
    const struct text clean = utf8_clean((struct text){ name.bytes, name.size < NAME_ROOM ? name.size : NAME_ROOM });
    const uint32_t function = definitions_function(
        map->definitions, clean, &(struct function){ .kind = KIND_NATIVE, .module = module, .address = start });
    text_free(clean);
    return definitions_frame(
        map->definitions, &(struct frame){ .function = function, .column = -1, .end_column = -1, .address = address });
}

/* The file's own name, without its folders. */
static const char *name_of_file(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Code of no file has a name if its compiler has written one. It may do so later. */
static uint32_t frame_of_no_file(struct code_map *map, struct code_place *place)
{
    const struct perf_function *function = perf_map_find(&map->jit, place->pc);
    if (!function && map->jit_read_ns != map->listed_ns) {
        read_jit(map);
        function = perf_map_find(&map->jit, place->pc);
    }
    if (!function)
        return define_place(map, TEXT("<code of no file>"), 0, 0, 0);
    const uint32_t module = definitions_string(map->definitions, TEXT("[JIT]"));
    map->named++;
    return place->frame = define_place(map, text_of(perf_map_name(&map->jit, function)), module, 0, 0);
}

uint32_t code_map_frame(struct code_map *map, struct code_place *place)
{
    char room[METHOD_NAME_MAX];
    if (place->frame)
        return place->frame;
    if (!place->in_module)
        return frame_of_no_file(map, place);
    struct code_module *module = &map->modules[place->module];
    const uint64_t address = place->pc - module->image.bias;
    const bool ready = map->waits ? symbols_wait(&module->symbols) : symbols_ready(&module->symbols);
    const struct symbol *symbol = symbols_find(&module->symbols, address);
    const uint64_t start = place->ruled ? place->rule.function : symbol ? symbol->address : address;
    const bool method = methods_name(&module->methods, &module->image, start, room);
    if (!method && !symbol)
        snprintf(room, sizeof(room), "%.100s+0x%" PRIx64, name_of_file(module->mapped.path), start);
    struct text name = text_of(method || !symbol ? room : symbols_name(&module->symbols, symbol));
    if (!method && symbol) /* without the version: pthread_cond_wait@@GLIBC_2.3.2 */
        name.size = strcspn(name.bytes, "@");
    const uint32_t frame = define_place(map, name, module->name, start, address);
    if (!ready && !method) { /* while the symbols are read, the name is asked for again */
        map->unnamed = true;
        return frame;
    }
    map->named += method || symbol;
    map->nameless += !method && !symbol;
    return place->frame = frame;
}
