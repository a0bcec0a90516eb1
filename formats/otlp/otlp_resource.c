/* SPDX-License-Identifier: MIT */
#include "formats/otlp/otlp_resource.h"

#include "formats/model/paths.h"
#include "formats/model/program_name.h"

#include <stdlib.h>
#include <string.h>

#define OWN_MOST 16 /* attributes that are not those of struct process */

struct filling {
    Pyreel__Otlp__Resource *to;
    Pyreel__Otlp__KeyValue *rows;
    struct otlp_parts *parts;
};

/* The value of a new attribute; NULL: the resource has one of this name. */
static Pyreel__Otlp__AnyValue *add_value(struct filling *filling, struct text name)
{
    for (size_t i = 0; i < filling->to->n_attributes; i++)
        if (text_equal(text_of(filling->rows[i].key), name))
            return NULL;
    Pyreel__Otlp__KeyValue *row = &filling->rows[filling->to->n_attributes++];
    Pyreel__Otlp__AnyValue *value = otlp_parts_new(filling->parts, 1, sizeof(*value));
    pyreel__otlp__key_value__init(row);
    pyreel__otlp__any_value__init(value);
    row->key = otlp_parts_string(filling->parts, name.bytes, name.size);
    row->value = value;
    return value;
}

static void add_text(struct filling *filling, struct text name, struct text text)
{
    Pyreel__Otlp__AnyValue *value = text.size ? add_value(filling, name) : NULL;
    if (!value)
        return;
    value->value_case = PYREEL__OTLP__ANY_VALUE__VALUE_STRING_VALUE;
    value->string_value = otlp_parts_string(filling->parts, text.bytes, text.size);
}

static void add_integer(struct filling *filling, struct text name, uint64_t number)
{
    Pyreel__Otlp__AnyValue *value = number ? add_value(filling, name) : NULL;
    if (!value)
        return;
    value->value_case = PYREEL__OTLP__ANY_VALUE__VALUE_INT_VALUE;
    value->int_value = (int64_t)number;
}

static size_t count_attributes(struct text lines)
{
    size_t count = 0;
    struct text name, value;
    while (process_take_attribute(&lines, &name, &value))
        count++;
    return count;
}

/* What stands in the recording by itself. */
static void add_known(struct filling *filling, const struct tables *tables, const struct process *process)
{
    char version[32];
    add_integer(filling, TEXT("process.pid"), process->pid);
    add_integer(filling, TEXT("process.parent_pid"), process->parent_pid);
    add_text(filling, TEXT("process.command_line"), process->command);
    add_text(filling, TEXT("process.executable.path"), process->executable);
    add_text(filling, TEXT("process.executable.name"), paths_last_part(process->executable));
    add_text(filling, TEXT("process.executable.build_id.gnu"), process->build_id);
    add_text(filling, TEXT("process.working_directory"), process->folder);
    if (process->python_version) {
        add_text(filling, TEXT("process.runtime.name"), TEXT("cpython"));
        add_text(filling, TEXT("process.runtime.version"),
                 text_of(event_python_version_text(version, process->python_version)));
    }
    add_text(filling, TEXT("host.name"), tables->recording.host);
    add_text(filling, TEXT("pyreel.recording"), process->recording);
}

void otlp_resource_fill(Pyreel__Otlp__Resource *to, const struct tables *tables, uint32_t number, uint64_t unplaced_ns,
                        struct otlp_parts *parts)
{
    const struct process *process = &tables->processes[number].process;
    const size_t room = OWN_MOST + count_attributes(process->attributes);
    struct filling filling = { to, otlp_parts_new(parts, room, sizeof(*filling.rows)), parts };
    struct text found = process->attributes, name, value;
    pyreel__otlp__resource__init(to);
    add_known(&filling, tables, process);
    while (process_take_attribute(&found, &name, &value))
        add_text(&filling, name, value);
    char *program = program_name(process->command); /* where nobody gave the service a name */
    add_text(&filling, TEXT("service.name"), text_of(program));
    free(program);
    add_integer(&filling, TEXT("pyreel.cpu.unplaced"), unplaced_ns);
    to->attributes = (Pyreel__Otlp__KeyValue **)otlp_parts_list(parts, filling.rows, to->n_attributes,
                                                                sizeof(*filling.rows));
}
