/* SPDX-License-Identifier: MIT */
#include "convert/gecko/gecko_delivery.h"

#include "convert/viewer/show.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The facts of the finished profile that links carry. `lines` has room for SPOT_THREADS. */
static struct link_profile link_profile_of(const struct to_gecko *to, uint32_t *lines)
{
    const char *missing = spot_missing(&to->spot);
    if (missing)
        fprintf(stderr, "%s: warning: the recording has %s; the viewer shows the flame graph\n",
                to->conversion->converter->name, missing);
    return spot_profile(&to->spot, to->gecko, &to->conversion->tables, lines);
}

/* The files whose text may be in the profile: those of the program. */
static struct disclosed_sources sources_of(const struct to_gecko *to)
{
    return to->wanted->style.embed_sources ? disclosed_texts_of(&to->conversion->tables)
                                           : (struct disclosed_sources){ 0 };
}

/* With --strict a recording that is not whole is not shared. */
static bool check_sharing(const struct to_gecko *to, struct fault *why)
{
    const struct conversion *conversion = to->conversion;
    const bool whole = conversion->whole && conversion->report.complete && conversion->report.damage.blocks == 0 &&
                       !conversion->tables.cut;
    return whole || !conversion->settings.strict ||
           fault(why, "a recording is damaged or incomplete, so --strict uploads nothing");
}

bool gecko_delivery_stream(struct to_gecko *to, struct fault *why)
{
    struct conversion *conversion = to->conversion;
    const struct share_wishes wishes = gecko_options_wishes(&conversion->settings);
    struct share *share = check_sharing(to, why)
                              ? share_begin(&wishes, &conversion->tables, sources_of(to), &conversion->output, why)
                              : NULL;
    if (!share)
        return false;
    if (!gecko_finish(to->gecko, why)) {
        share_cut(share, &conversion->output);
        return false;
    }
    uint32_t lines[SPOT_THREADS];
    const struct link_profile profile = link_profile_of(to, lines);
    return share_end(share, &conversion->output, &profile, why);
}

/* Shows the profile, the file `fd`. */
static bool gecko_delivery_show(const struct to_gecko *to, int fd, struct fault *why)
{
    uint32_t lines[SPOT_THREADS];
    const struct shown shown = {
        .program = to->conversion->converter->name,
        .viewer = to->wanted->viewer ? to->wanted->viewer : LINK_VIEWER,
        .view = to->wanted->view,
        .profile = link_profile_of(to, lines),
        .fd = fd,
        .browser = to->wanted->open,
        .quiet = to->conversion->settings.quiet,
    };
    return show_profile(&shown, why);
}

/* Sends the profile, the file at `path`. */
static bool send_file(const struct to_gecko *to, const char *path, struct fault *why)
{
    uint32_t lines[SPOT_THREADS];
    const struct link_profile profile = link_profile_of(to, lines);
    const struct share_wishes wishes = gecko_options_wishes(&to->conversion->settings);
    const struct embedded_files *embedded = gecko_embedded(to->gecko);
    const struct disclosed_sources sources = { .count = embedded->count[SOURCE_READ],
                                               .example = embedded->first[SOURCE_READ] };
    return check_sharing(to, why) && share_file(&wishes, &to->conversion->tables, sources, path, &profile, why);
}

/* Shows the profile, the file at `path`. */
static bool show_file(const struct to_gecko *to, const char *path, struct fault *why)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const bool good = fd >= 0 ? gecko_delivery_show(to, fd, why)
                              : fault(why, "cannot read %s: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    return good;
}

bool gecko_delivery_deliver(const struct to_gecko *to, const char *path, struct fault *why)
{
    const struct settings *settings = &to->conversion->settings;
    if (to->wanted->share.upload)
        return gecko_options_streams(settings) || send_file(to, path, why);
    if (!gecko_options_shows(settings))
        return true;
    return path ? show_file(to, path, why) : gecko_delivery_show(to, to->conversion->kept_fd, why);
}
