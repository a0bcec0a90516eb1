/* SPDX-License-Identifier: MIT */
#include "convert/gecko/gecko_conflicts.h"

#include "convert/gecko/gecko_options.h"
#include "formats/base/alloc.h"

/* A way of using options, which is wrong, and the message that says so. */
struct conflict {
    bool found;
    const char *problem;
};

static const char *gecko_conflicts_first_of(const struct conflict *conflicts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (conflicts[i].found)
            return conflicts[i].problem;
    return NULL;
}

/* Options of the view without something that is shown. */
static const char *view_problem(const struct settings *settings)
{
    const struct gecko_wanted *wanted = gecko_options_wanted(settings);
    const bool shows = gecko_options_shows(settings);
    const bool links = shows || wanted->share.upload || wanted->share.link_for;
    const struct conflict conflicts[] = {
        { wanted->view && !links, "--view chooses how --open, --serve and links show the profile; name --open, "
                                  "--serve, --upload or --link-for" },
        { wanted->viewer && !links, "--profiler-url chooses the viewer of --open, --serve and links; name --open, "
                                    "--serve, --upload or --link-for" },
        { shows && settings->output && output_is_standard(settings->output),
          "--open and --serve need a file, and -o names standard output; name another file, or leave out -o" },
        { wanted->sanitize && wanted->style.embed_sources,
          "--sanitize leaves out what --embed-sources puts in; choose one of them" },
    };
    return gecko_conflicts_first_of(conflicts, countof(conflicts));
}

static const char *sharing_problem(const struct settings *settings)
{
    const struct gecko_wanted *wanted = gecko_options_wanted(settings);
    const struct share_wishes *share = &wanted->share;
    const bool deletes = share->delete_link, links = share->link_for;
    const struct conflict conflicts[] = {
        { share->upload + deletes + links + gecko_options_shows(settings) > 1,
          "--upload, --delete, --link-for and --open (or --serve) are for one thing each; name one of them" },
        { (deletes || links) && settings->inputs_count > 0, "--delete and --link-for take no recording" },
        { wanted->limits && !share->upload && !deletes,
          "--server, --max-upload and --timeout are for --upload and --delete; name one of them" },
        { share->upload && settings->output && !gecko_options_packed(settings->output),
          "the store takes gzip'd profiles; name a FILE.gz with -o, or leave out -o to write no file" },
    };
    return gecko_conflicts_first_of(conflicts, countof(conflicts));
}

/* Why a URL or a link is wrong. */
static const char *address_problem(const struct settings *settings)
{
    static struct fault why;
    const struct share_wishes wishes = gecko_options_wishes(settings);
    return share_check(&wishes, &why) ? NULL : why.text;
}

const char *gecko_conflicts_problem(const struct settings *settings)
{
    const char *(*const problems[])(const struct settings *) = { view_problem, sharing_problem, address_problem };
    for (size_t i = 0; i < countof(problems); i++) {
        const char *problem = problems[i](settings);
        if (problem)
            return problem;
    }
    return NULL;
}
