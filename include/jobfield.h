/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jobfield.h - what sacct shows: the object under the key "fabric" in a job's AdminComment.
 *
 * The object itself is made by story.h (spank/); this file knows how it lives beside other
 * people's content: a JSON object gets our key, anything else is left alone. It also folds the
 * object into the one line that fits the job field Extra.
 */
#ifndef FABRIC_JOBFIELD_H
#define FABRIC_JOBFIELD_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "json.h"

#define JOBFIELD_KEY "fabric"
#define JOBFIELD_VERSION 1
#define JOBFIELD_RUNNING_MAX 1024 /* while the job runs: each job query carries it */
#define JOBFIELD_FINAL_MAX 8192
#define JOBFIELD_EXTRA_MAX 1024 /* Slurm takes no more in a job's Extra */

/*
 * The field's new text: existing (NULL or "" for none) with our object in it, malloc'ed in *text;
 * what is not ours stays byte for byte.
 * -EEXIST: the field holds something that is not a JSON object; leave it. -E2BIG: it would not fit
 * max bytes of ours.
 */
int jobfield_merge(const char *existing, json_object *fabric, size_t max, char **text,
		   struct err *err);

/*
 * 1 when existing holds an object of ours that stands on more records ("records") than fabric:
 * what is known here is less than what was known when it was written, and must not replace it. 0
 * when it does not, or -ENOMEM.
 */
int jobfield_poorer(const char *existing, json_object *fabric);

/*
 * Our object out of a field's text: a reference for the caller. NULL when there is none, or with
 * errno ENOMEM.
 */
json_object *jobfield_extract(const char *text);

/*
 * What the job field Extra says of our object, one line of at most JOBFIELD_EXTRA_MAX bytes:
 * "fabric: final; compact; 4 nodes; 2 units, fewest 2; step 0: hgx-1 mlx5_3:1 suspect", malloc'ed.
 * NULL without memory.
 */
char *jobfield_digest(json_object *fabric);

/* Whether an Extra is ours to write: it is empty, or such a line. */
bool jobfield_digest_is_ours(const char *extra);

#endif
