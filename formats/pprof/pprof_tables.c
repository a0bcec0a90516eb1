/* SPDX-License-Identifier: MIT */
#include "formats/pprof/pprof_tables.h"

#include "formats/base/alloc.h"
#include "formats/base/utf8.h"

#include <stdlib.h>

void pprof_tables_start(struct pprof_tables *to, const struct tables *tables, const struct paths *qualify)
{
    *to = (struct pprof_tables){ .tables = tables, .qualify = qualify };
    to->module_ids = alloc_zeroed(tables->strings_count + 1, sizeof(*to->module_ids));
    to->function_ids = alloc_zeroed(tables->functions_count + PPROF_SYNTHETICS, sizeof(*to->function_ids));
    to->positions = alloc_zeroed(tables->frames_count + PPROF_SYNTHETICS + 1, sizeof(*to->positions));
    pprof_tables_string(to, TEXT(""));
}

int64_t pprof_tables_string(struct pprof_tables *to, struct text text)
{
    bool added;
    char shown[UTF8_SHOWN];
    to->printable.size = 0;
    while (text.size > 0)
        put_bytes(&to->printable, shown, utf8_show(&text, false, shown));
    const char *bytes = to->printable.size ? (const char *)to->printable.at : "";
    return (int64_t)intern_number(&to->strings, bytes, to->printable.size, &added) - 1;
}

/* The id of the mapping with this key, which the profile calls `name`. */
static uint32_t mapping_of(struct pprof_tables *to, struct text key, struct text name)
{
    bool added;
    const uint32_t id = intern_number(&to->executables, key.bytes, key.size, &added);
    if (!added)
        return id;
    to->mappings = alloc_grow(to->mappings, &to->mappings_room, id, sizeof(*to->mappings));
    Perftools__Profiles__Mapping *mapping = &to->mappings[id - 1];
    perftools__profiles__mapping__init(mapping);
    mapping->id = id;
    mapping->filename = pprof_tables_string(to, name);
    mapping->has_functions = true;
    mapping->has_filenames = true;
    mapping->has_line_numbers = true;
    return id;
}

/* Without the folder: pprof would open the executable and disassemble it, at addresses that are not code. */
uint32_t pprof_tables_mapping(struct pprof_tables *to, struct text executable)
{
    return mapping_of(to, executable, paths_last_part(executable));
}

/* With the addresses of its file a mapping is that of a file which is loaded at address 0: pprof finds the code in it.
 */
static void describe_mapping(struct pprof_tables *to, uint32_t id, const struct module *module)
{
    Perftools__Profiles__Mapping *mapping = &to->mappings[id - 1];
    if (!module)
        return;
    mapping->build_id = pprof_tables_string(to, module->build_id);
    mapping->memory_start = module->code_begin;
    mapping->memory_limit = module->code_begin + module->code_size;
    mapping->file_offset = module->code_offset;
}

/* The id of the mapping of the module of a function; 0: it has none. An executable that has Python frames and native
 * code has two mappings: only addresses of native code are in the file. */
static uint32_t mapping_of_module(struct pprof_tables *to, uint32_t function)
{
    const uint32_t module = function < to->tables->functions_count ? to->tables->functions[function].module : 0;
    if (module && !to->module_ids[module]) {
        struct bytes key = { 0 };
        const struct text path = tables_string(to->tables, module);
        put_bytes(&key, "", 1);
        put_bytes(&key, path.bytes, path.size);
        to->module_ids[module] = mapping_of(to, bytes_text(&key), path);
        bytes_free(&key);
        describe_mapping(to, to->module_ids[module], tables_module(to->tables, module));
    }
    return module ? to->module_ids[module] : 0;
}

static const struct text synthetic_names[PPROF_SYNTHETICS] = {
    [PPROF_NO_FRAMES] = { NO_PYTHON_FRAMES, sizeof(NO_PYTHON_FRAMES) - 1 },
    [PPROF_TRUNCATED] = { "<truncated>", 11 },
    [PPROF_REST] = { "<rest>", 6 },
};

/* The name of a function, with its module if that is wanted. A synthetic frame has no file, and so no module. The text
 * is valid until the next call. */
static struct text pprof_tables_function_name(struct pprof_tables *to, uint32_t function)
{
    if (function >= to->tables->functions_count)
        return synthetic_names[function - to->tables->functions_count];
    const struct text own = tables_function_name(to->tables, function);
    const struct text name = own.size ? own : TEXT("<unknown>");
    if (!to->qualify || to->tables->functions[function].module)
        return name;
    to->name.size = 0;
    paths_put_module(&to->name, to->qualify, tables_function_file(to->tables, function));
    put_bytes(&to->name, ".", to->name.size > 0);
    put_bytes(&to->name, name.bytes, name.size);
    return (struct text){ (const char *)to->name.at, to->name.size };
}

static uint32_t function_id(struct pprof_tables *to, uint32_t number)
{
    if (to->function_ids[number])
        return to->function_ids[number];
    const size_t id = ++to->functions_count;
    to->functions = alloc_grow(to->functions, &to->functions_room, id, sizeof(*to->functions));
    Perftools__Profiles__Function *function = &to->functions[id - 1];
    perftools__profiles__function__init(function);
    function->id = id;
    function->name = pprof_tables_string(to, pprof_tables_function_name(to, number));
    if (number < to->tables->functions_count) {
        const struct text file = tables_function_file(to->tables, number);
        const struct text module = tables_string(to->tables, to->tables->functions[number].module);
        function->filename = pprof_tables_string(to, file.size ? file : module);
        function->start_line = to->tables->functions[number].first_line;
        const uint32_t name = to->tables->functions[number].name;
        const struct text linkers = tables_linker_name(to->tables, name);
        const bool other = linkers.bytes != tables_string(to->tables, name).bytes;
        if (other && (text_begins(linkers, TEXT("_Z")) || text_begins(linkers, TEXT("_R"))))
            function->system_name = pprof_tables_string(to, linkers);
    }
    to->function_ids[number] = (uint32_t)id;
    return (uint32_t)id;
}

static uint64_t pprof_tables_hash_of(const struct hash_factors *spread, const struct pprof_position *position)
{
    const uint64_t address = position->address;
    const uint64_t place = address ? hash_pair(spread, (uint32_t)address, (uint32_t)(address >> 32)) : 0;
    return hash_three(spread, position->function, position->line,
                      position->column ^ (uint32_t)(place >> 32) ^ position->inlined << 24);
}

static uint64_t hash_of_position(const struct hash_factors *spread, const void *positions, uint32_t number)
{
    return pprof_tables_hash_of(spread, (const struct pprof_position *)positions + number);
}

static bool same_position(const void *positions, uint32_t number, const void *wanted)
{
    const struct pprof_position *position = (const struct pprof_position *)positions + number, *other = wanted;
    return position->function == other->function && position->line == other->line &&
           position->column == other->column && position->address == other->address &&
           position->inlined == other->inlined;
}

uint32_t pprof_tables_position(struct pprof_tables *to, struct pprof_position position)
{
    const struct id_index *index = &to->position_index;
    const uint64_t hash = pprof_tables_hash_of(&index->spread, &position);
    const uint32_t known = index->room ? *id_index_slot(index, hash, same_position, to->positions, &position) : 0;
    if (known)
        return known;
    const uint32_t number = ++to->positions_count;
    to->positions[number] = position;
    id_index_add(&to->position_index, to->positions, number, hash_of_position);
    return number;
}

uint32_t pprof_tables_synthetic(struct pprof_tables *to, enum pprof_synthetic which)
{
    return pprof_tables_position(to,
                                 (struct pprof_position){ (uint32_t)to->tables->functions_count + which, 0, 0, 0, 0 });
}

bool pprof_tables_is_inlined(const struct pprof_tables *tables, uint32_t position, uint32_t into)
{
    const struct pprof_position *inner = &tables->positions[position], *outer = &tables->positions[into];
    return inner->inlined && inner->inlined == outer->inlined + 1 && inner->address == outer->address;
}

static void add_line(struct pprof_tables *to, const struct pprof_position *position)
{
    to->lines = alloc_grow(to->lines, &to->lines_room, to->lines_count + 1, sizeof(*to->lines));
    Perftools__Profiles__Line *line = &to->lines[to->lines_count++];
    perftools__profiles__line__init(line);
    line->function_id = function_id(to, position->function);
    line->line = position->line;
    line->column = position->column;
}

uint64_t pprof_tables_location(struct pprof_tables *to, const uint32_t *positions, size_t count, uint32_t executable)
{
    bool added;
    const struct pprof_position *position = &to->positions[positions[0]];
    const uint32_t module = mapping_of_module(to, position->function);
    const uint32_t mapping = module ? module : executable;
    uint32_t number = positions[0];
    for (size_t i = 1; i < count; i++)
        number = UINT32_MAX - intern_pairs_number(&to->inlined_ids, number, positions[i], &added);
    const uint32_t id = intern_pairs_number(&to->location_ids, number, mapping, &added);
    if (!added)
        return id;
    to->locations = alloc_grow(to->locations, &to->locations_room, id, sizeof(*to->locations));
    struct pprof_location *location = &to->locations[id - 1];
    *location = (struct pprof_location){ .first_line = to->lines_count, .lines = count };
    perftools__profiles__location__init(&location->message);
    location->message.id = id;
    location->message.mapping_id = mapping;
    location->message.address = position->address;
    if (mapping)
        to->mappings[mapping - 1].has_inline_frames |= count > 1;
    for (size_t i = 0; i < count; i++)
        add_line(to, &to->positions[positions[i]]);
    return id;
}

static char **list_strings(const struct intern *strings)
{
    char **list = alloc_zeroed(strings->count, sizeof(*list));
    for (uint32_t i = 0; i < strings->count; i++)
        list[i] = (char *)strings->texts[i + 1].bytes;
    return list;
}

/* A list of pointers to `count` messages of `size` bytes in an array, as protobuf-c wants it. */
static void *list_messages(void *messages, size_t count, size_t size)
{
    void **list = alloc_zeroed(count, sizeof(*list));
    for (size_t i = 0; i < count; i++)
        list[i] = (char *)messages + i * size;
    return list;
}

void pprof_tables_make_lists(struct pprof_tables *from, Perftools__Profiles__Profile *profile)
{
    /* The pointers are set only now, because the lines no longer move. */
    free(from->line_list);
    from->line_list = list_messages(from->lines, from->lines_count, sizeof(*from->lines));
    for (size_t i = 0; i < from->location_ids.count; i++) {
        struct pprof_location *location = &from->locations[i];
        location->message.line = from->line_list + location->first_line;
        location->message.n_line = location->lines;
    }
    profile->n_mapping = from->executables.count;
    profile->mapping = list_messages(from->mappings, profile->n_mapping, sizeof(*from->mappings));
    profile->n_location = from->location_ids.count;
    profile->location = list_messages(from->locations, profile->n_location, sizeof(*from->locations));
    profile->n_function = from->functions_count;
    profile->function = list_messages(from->functions, profile->n_function, sizeof(*from->functions));
    profile->n_string_table = from->strings.count;
    profile->string_table = list_strings(&from->strings);
}

void pprof_tables_free_lists(Perftools__Profiles__Profile *profile)
{
    free(profile->mapping);
    free(profile->location);
    free(profile->function);
    free(profile->string_table);
}

void pprof_tables_free(struct pprof_tables *tables)
{
    intern_free(&tables->strings);
    intern_free(&tables->executables);
    id_index_free(&tables->position_index);
    intern_pairs_free(&tables->inlined_ids);
    intern_pairs_free(&tables->location_ids);
    free(tables->lines);
    free(tables->line_list);
    free(tables->mappings);
    free(tables->positions);
    free(tables->locations);
    free(tables->module_ids);
    free(tables->function_ids);
    free(tables->functions);
    bytes_free(&tables->name);
    bytes_free(&tables->printable);
    *tables = (struct pprof_tables){ 0 };
}
