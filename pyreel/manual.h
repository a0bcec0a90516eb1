/* SPDX-License-Identifier: MIT */
/* Man pages, which man(1) shows. */
#ifndef PYREEL_PYREEL_MANUAL_H
#define PYREEL_PYREEL_MANUAL_H

/* Becomes man(1) if it can show the page of this name in section 1: the page that came with pyreel, or the one that man
 * finds. Returns when it cannot. */
void manual_show(const char *page);

#endif
