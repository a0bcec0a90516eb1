/* SPDX-License-Identifier: MIT */
#include "convert/symbols/debug_info.h"

#include "formats/base/alloc.h"
#include "formats/base/bytes.h"
#include "formats/base/replaced.h"
#include "formats/base/utf8.h"
#include "formats/intern/intern.h"
#include "formats/intern/sorted.h"

#include <ctype.h>
#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECES_MOST  ((size_t)1 << 22)    /* of a file, and of a unit: code that the sources name */
#define SCOPES_MOST  32                   /* namespaces and classes that lie in one another */
#define ENTRIES_MOST 1000000              /* looked at for one address, ... */
#define UNIT_MOST    ((size_t)1 << 22)    /* ... and in one unit */
#define ID_MOST      64                   /* bytes of a build id */
#define PLACE        ((GElf_Addr)1 << 32) /* where a file is said to lie that is not here yet: any address will do */

/* A piece of code, and the entry of the debug information that has it. */
struct debug_piece {
    Dwarf_Addr low, high;
    Dwarf_Off entry;
};

/* `= {0}` is empty. */
struct debug_pieces {
    struct debug_piece *rows; /* sorted by `low` */
    size_t count, room;
};

/* The functions of a unit, which are read when the first address in the unit is asked for. */
struct debug_unit {
    Dwarf_Off entry;
    struct debug_pieces functions;
};

struct debug_info {
    Dwfl *files;
    Dwarf *dwarf;
    struct debug_pieces units;
    struct debug_unit *read; /* of the units */
    size_t read_count, read_room;
    struct intern texts; /* names of functions, and paths of sources */
    struct bytes path;   /* the one that is being made */
};

bool debug_info_exists(void)
{
    return true;
}

/* ---- pieces of code ---- */

/* Adds the code of an entry. */
static void add_pieces(struct debug_pieces *pieces, Dwarf_Die *entry)
{
    Dwarf_Addr base, low, high;
    size_t budget = PIECES_MOST;
    for (ptrdiff_t at = 0; budget-- && (at = dwarf_ranges(entry, at, &base, &low, &high)) > 0;) {
        if (low == 0 || low >= high || pieces->count >= PIECES_MOST) /* at 0: a function that the linker has removed */
            continue;
        pieces->rows = alloc_grow(pieces->rows, &pieces->room, pieces->count + 1, sizeof(*pieces->rows));
        pieces->rows[pieces->count++] = (struct debug_piece){ low, high, dwarf_dieoffset(entry) };
    }
}

static int compare_pieces(const void *one, const void *another)
{
    const struct debug_piece *a = one, *b = another;
    return (a->low > b->low) - (a->low < b->low);
}

static void sort_pieces(struct debug_pieces *pieces)
{
    if (pieces->count)
        qsort(pieces->rows, pieces->count, sizeof(*pieces->rows), compare_pieces);
}

/* The piece that has an address; NULL: none has. */
static const struct debug_piece *piece_at(const struct debug_pieces *pieces, uint64_t address)
{
    const size_t behind = sorted_until(pieces->rows, pieces->count, sizeof(*pieces->rows), address);
    const struct debug_piece *piece = behind ? &pieces->rows[behind - 1] : NULL;
    return piece && address < piece->high ? piece : NULL;
}

static void read_units(struct debug_info *info)
{
    Dwarf_Die entry;
    uint8_t kind;
    for (Dwarf_CU *unit = NULL; dwarf_get_units(info->dwarf, unit, &unit, NULL, &kind, &entry, NULL) == 0;)
        if (kind == DW_UT_compile)
            add_pieces(&info->units, &entry);
    sort_pieces(&info->units);
}

/* Whether functions may lie in an entry of this kind. */
static bool is_scope(int tag)
{
    return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_class_type || tag == DW_TAG_structure_type;
}

/* Adds the functions below an entry. A file may say that an entry is behind itself. */
static void add_functions(struct debug_pieces *functions, Dwarf_Die *scope, unsigned depth, size_t *budget)
{
    Dwarf_Die entry;
    if (depth > SCOPES_MOST || *budget == 0 || dwarf_child(scope, &entry) != 0)
        return;
    do {
        const int tag = dwarf_tag(&entry);
        if (tag == DW_TAG_subprogram)
            add_pieces(functions, &entry);
        else if (is_scope(tag))
            add_functions(functions, &entry, depth + 1, budget);
    } while (*budget && --*budget && functions->count < PIECES_MOST && dwarf_siblingof(&entry, &entry) == 0);
}

static const struct debug_pieces *functions_of(struct debug_info *info, Dwarf_Off entry)
{
    Dwarf_Die unit;
    for (size_t i = 0; i < info->read_count; i++)
        if (info->read[i].entry == entry)
            return &info->read[i].functions;
    info->read = alloc_grow(info->read, &info->read_room, info->read_count + 1, sizeof(*info->read));
    struct debug_unit *row = &info->read[info->read_count++];
    *row = (struct debug_unit){ .entry = entry };
    size_t budget = UNIT_MOST;
    if (dwarf_offdie(info->dwarf, entry, &unit))
        add_functions(&row->functions, &unit, 0, &budget);
    sort_pieces(&row->functions);
    return &row->functions;
}

/* ---- files ---- */

/* Opens a file. A file that is none is not opened: to open a device or a pipe may do something, or wait for ever. Nor
 * is one that is no program: libdwfl would unpack it, whatever its size. -1: there is none. */
static int open_program(const char *path)
{
    char magic[SELFMAG];
    struct stat there;
    const int seen = path[0] == '/' ? open(path, O_PATH | O_CLOEXEC) : -1;
    if (seen < 0)
        return -1;
    const int fd = fstat(seen, &there) == 0 && S_ISREG(there.st_mode) ? replaced_open_seen(seen, path, O_RDONLY) : -1;
    close(seen);
    if (fd < 0 || (pread(fd, magic, SELFMAG, 0) == SELFMAG && memcmp(magic, ELFMAG, SELFMAG) == 0))
        return fd;
    close(fd);
    return -1;
}

/* Opens the file that has the debug information of a module, for libdwfl, which then asks for its build id. `link` is
 * the name in the module's .gnu_debuglink; NULL: it has none. */
static int find_debug_file(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base, const char *file,
                           const char *link, GElf_Word checksum, char **found)
{
    static const struct {
        const char *before, *behind;
    } places[] = { { "", "" }, { "", "/.debug" }, { "/usr/lib/debug", "" } };
    const char *slash = file ? strrchr(file, '/') : NULL;
    char path[PATH_MAX];
    (void)module, (void)user, (void)name, (void)base, (void)checksum;
    for (size_t i = 0; slash && link && !strchr(link, '/') && i < countof(places); i++) {
        const int size = snprintf(path, sizeof(path), "%s%.*s%s/%s", places[i].before, (int)(slash - file), file,
                                  places[i].behind, link);
        const int fd = size < (int)sizeof(path) ? open_program(path) : -1;
        if (fd < 0)
            continue;
        *found = strdup(path);
        return fd;
    }
    return -1;
}

/* Local files are found by us, and those of servers by libdwfl. */
static const Dwfl_Callbacks local = {
    .find_elf = dwfl_build_id_find_elf,
    .find_debuginfo = find_debug_file,
    .section_address = dwfl_offline_section_address,
};
static const Dwfl_Callbacks fetched = {
    .find_elf = dwfl_build_id_find_elf,
    .find_debuginfo = dwfl_standard_find_debuginfo,
    .section_address = dwfl_offline_section_address,
};

static bool is_of_build(Dwfl_Module *module, struct text wanted)
{
    const unsigned char *id = NULL;
    GElf_Addr where;
    const int size = dwfl_module_build_id(module, &id, &where);
    char digits[2 * ID_MOST + 1];
    if (size <= 0 || size > ID_MOST)
        return false;
    for (int i = 0; i < size; i++)
        snprintf(digits + (size_t)2 * (size_t)i, 3, "%02x", id[i]);
    return text_equal(text_of(digits), wanted);
}

/* Reads which code there is. False, and all is closed, if there is none. */
static bool has_code(struct debug_info *info)
{
    if (info->dwarf)
        read_units(info);
    if (info->units.count > 0)
        return true;
    dwfl_end(info->files);
    info->files = NULL;
    info->dwarf = NULL;
    return false;
}

/* Opens the debug information of a file, or the one that the file names, if it is of this build. */
static bool open_file(struct debug_info *info, const char *path, struct text build_id)
{
    Dwarf_Addr bias;
    const int fd = open_program(path);
    if (fd < 0)
        return false;
    info->files = dwfl_begin(&local);
    Dwfl_Module *module = info->files ? dwfl_report_offline(info->files, path, path, fd) : NULL;
    if (!module)
        close(fd); /* else the module has it */
    if (info->files)
        dwfl_report_end(info->files, NULL, NULL);
    if (module && is_of_build(module, build_id))
        info->dwarf = dwfl_module_getdwarf(module, &bias);
    return has_code(info);
}

/* Asks the servers of DEBUGINFOD_URLS for a build. libdwfl asks them for what is not on this machine. */
static bool fetch_build(struct debug_info *info, struct text build_id)
{
    Dwarf_Addr bias;
    unsigned char id[ID_MOST];
    for (size_t i = 0; i < build_id.size / 2; i++)
        sscanf(build_id.bytes + 2 * i, "%2hhx", &id[i]);
    info->files = dwfl_begin(&fetched);
    Dwfl_Module *module = info->files ? dwfl_report_module(info->files, "fetched", PLACE, PLACE + PLACE) : NULL;
    if (module && dwfl_module_report_build_id(module, id, build_id.size / 2, 0) == 0) {
        dwfl_report_end(info->files, NULL, NULL);
        info->dwarf = dwfl_module_getdwarf(module, &bias);
    }
    return has_code(info);
}

/* Looks where the debug information of a module may be, the likeliest first. */
static bool open_any(struct debug_info *info, struct text path, struct text build_id, bool fetch)
{
    char by_id[sizeof("/usr/lib/debug/.build-id//.debug") + (size_t)2 * ID_MOST];
    char *module = alloc_copy(path.bytes, path.size);
    snprintf(by_id, sizeof(by_id), "/usr/lib/debug/.build-id/%.2s/%.*s.debug", build_id.bytes, (int)build_id.size - 2,
             build_id.bytes + 2);
    const bool found = open_file(info, module, build_id) || open_file(info, by_id, build_id) ||
                       (fetch && fetch_build(info, build_id));
    free(module);
    return found;
}

/* ---- places ---- */

/* The text as UTF-8; it lives as long as `info`. */
static struct text clean_text(struct debug_info *info, struct text text)
{
    const struct text clean = utf8_clean(text);
    const struct text kept = intern_text(&info->texts, clean);
    text_free(clean);
    return kept;
}

/* The name of a function: of C++ and Rust as the linker knows it. */
static struct text name_of(struct debug_info *info, Dwarf_Die *entry)
{
    Dwarf_Attribute attribute;
    const bool linkers = dwarf_attr_integrate(entry, DW_AT_linkage_name, &attribute) ||
                         dwarf_attr_integrate(entry, DW_AT_MIPS_linkage_name, &attribute);
    const char *name = linkers ? dwarf_formstring(&attribute) : dwarf_diename(entry);
    return name ? clean_text(info, text_of(name)) : (struct text){ 0 };
}

static uint32_t line_or_none(int line)
{
    return line > 0 ? (uint32_t)line : 0;
}

/* The path of a source of a unit, from the folder in which the unit was compiled. */
static struct text path_of(struct debug_info *info, Dwarf_Die *unit, const char *file)
{
    Dwarf_Attribute attribute;
    if (!file)
        return (struct text){ 0 };
    const char *folder = file[0] != '/' && dwarf_attr(unit, DW_AT_comp_dir, &attribute) ? dwarf_formstring(&attribute)
                                                                                        : NULL;
    info->path.size = 0;
    if (folder) {
        put_string(&info->path, folder);
        put_string(&info->path, "/");
    }
    put_string(&info->path, strncmp(file, "./", 2) == 0 ? file + 2 : file);
    return clean_text(info, bytes_text(&info->path));
}

/* The source file of a unit by its number. Since DWARF 5, number 0 is the unit's own file. */
static struct text file_of(struct debug_info *info, Dwarf_Die *unit, Dwarf_Word number)
{
    Dwarf_Files *files = NULL;
    size_t count = 0;
    const bool known = dwarf_getsrcfiles(unit, &files, &count) == 0 && number < count;
    return path_of(info, unit, known ? dwarf_filesrc(files, number, NULL, NULL) : NULL);
}

/* The source file of a function: that of the entry that declares it, which may be in another unit. */
static struct text declared_in(struct debug_info *info, Dwarf_Die *entry)
{
    Dwarf_Attribute attribute;
    Dwarf_Word number;
    Dwarf_Half version;
    Dwarf_Die unit;
    if (!dwarf_attr_integrate(entry, DW_AT_decl_file, &attribute) || dwarf_formudata(&attribute, &number) != 0 ||
        !dwarf_cu_die(attribute.cu, &unit, &version, NULL, NULL, NULL, NULL, NULL) || (number == 0 && version < 5))
        return (struct text){ 0 };
    return file_of(info, &unit, number);
}

static struct debug_place place_of(struct debug_info *info, Dwarf_Die *entry)
{
    struct debug_place place = { .name = name_of(info, entry), .file = declared_in(info, entry) };
    int line = 0;
    if (dwarf_decl_line(entry, &line) == 0)
        place.first_line = line_or_none(line);
    return place;
}

static Dwarf_Word number_of(Dwarf_Die *entry, unsigned name)
{
    Dwarf_Attribute attribute;
    Dwarf_Word number = 0;
    return dwarf_attr(entry, name, &attribute) && dwarf_formudata(&attribute, &number) == 0 ? number : 0;
}

/* Sets the line of a place, if the line is in the file of the function. Generated code may be in another one. */
static void set_line(struct debug_place *place, struct text file, uint32_t line)
{
    place->line = file.size && text_equal(file, place->file) ? line : 0;
}

/* Sets the line from which an inlined function is called. */
static void set_call(struct debug_info *info, struct debug_place *caller, Dwarf_Die *inlined, Dwarf_Die *unit)
{
    const Dwarf_Word line = number_of(inlined, DW_AT_call_line);
    set_line(caller, file_of(info, unit, number_of(inlined, DW_AT_call_file)), line <= INT32_MAX ? (uint32_t)line : 0);
}

/* Whether the code of an entry is told in the entry itself. */
static bool tells_code(Dwarf_Die *entry)
{
    return dwarf_hasattr(entry, DW_AT_ranges) || dwarf_hasattr(entry, DW_AT_low_pc);
}

/* Goes to the innermost inlined function at an address below `entry`; *inlined gets the next one. */
static bool go_inwards(Dwarf_Die *entry, uint64_t address, unsigned *budget, unsigned depth, Dwarf_Die *inlined)
{
    Dwarf_Die child;
    if (depth > DEBUG_PLACES || dwarf_child(entry, &child) != 0)
        return false;
    do {
        const int tag = dwarf_tag(&child);
        if (*budget == 0)
            return false;
        --*budget;
        if (tag == DW_TAG_inlined_subroutine && dwarf_haspc(&child, address) == 1) {
            *inlined = child;
            return true;
        }
        if (tag == DW_TAG_lexical_block && (!tells_code(&child) || dwarf_haspc(&child, address) == 1) &&
            go_inwards(&child, address, budget, depth + 1, inlined))
            return true;
    } while (dwarf_siblingof(&child, &child) == 0);
    return false;
}

size_t debug_info_find(struct debug_info *info, uint64_t address, struct debug_place places[DEBUG_PLACES])
{
    Dwarf_Die unit, entry;
    unsigned budget = ENTRIES_MOST;
    const struct debug_piece *piece = piece_at(&info->units, address);
    const struct debug_piece *function = piece ? piece_at(functions_of(info, piece->entry), address) : NULL;
    if (!function || !dwarf_offdie(info->dwarf, piece->entry, &unit) ||
        !dwarf_offdie(info->dwarf, function->entry, &entry))
        return 0;
    size_t count = 0;
    places[count++] = place_of(info, &entry);
    while (count < DEBUG_PLACES && go_inwards(&entry, address, &budget, 0, &entry)) {
        set_call(info, &places[count - 1], &entry, &unit);
        places[count++] = place_of(info, &entry);
    }
    Dwarf_Line *row = dwarf_getsrc_die(&unit, address);
    int line = 0;
    if (row && dwarf_lineno(row, &line) == 0)
        set_line(&places[count - 1], path_of(info, &unit, dwarf_linesrc(row, NULL, NULL)), line_or_none(line));
    return count;
}

/* ---- life ---- */

static bool is_build_id(struct text id)
{
    for (size_t i = 0; i < id.size; i++)
        if (!isxdigit((unsigned char)id.bytes[i]))
            return false;
    return id.size >= 4 && id.size <= 2 * (size_t)ID_MOST && id.size % 2 == 0;
}

struct debug_info *debug_info_open(struct text path, struct text build_id, bool fetch)
{
    struct debug_info info = { 0 };
    if (!is_build_id(build_id))
        return NULL;
    if (!fetch)
        unsetenv("DEBUGINFOD_URLS"); /* else libdwfl would ask */
    if (!open_any(&info, path, build_id, fetch))
        return NULL;
    struct debug_info *opened = alloc_zeroed(1, sizeof(*opened));
    *opened = info;
    return opened;
}

void debug_info_close(struct debug_info *info)
{
    if (!info)
        return;
    for (size_t i = 0; i < info->read_count; i++)
        free(info->read[i].functions.rows);
    free(info->read);
    free(info->units.rows);
    intern_free(&info->texts);
    bytes_free(&info->path);
    dwfl_end(info->files);
    free(info);
}
