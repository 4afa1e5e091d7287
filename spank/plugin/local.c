/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * local.c - fabric.so in srun, sbatch and salloc: what an option means inside an allocation.
 *
 * sbatch and salloc always ask for an allocation of their own, wherever they are run. An srun
 * inside an allocation only makes a step: the class was used when the nodes were chosen, so it
 * can't change any more. Slurm hands the options of sbatch and salloc on to the sruns inside
 * through the environment (INHERITED); an allocation that srun itself makes does not, so we do it
 * there.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "classes.h"
#include "plugin.h"
#include "text.h"

/* Slurm's name for the value of an option of the plugin "fabric", '-' written as '_'. */
#define INHERITED "SLURM_SPANK__SLURM_SPANK_OPTION_fabric_"

static void inherited_name(enum plugin_option option, char name[96])
{
	snprintf(name, 96, INHERITED "%s", plugin_option_names[option]);
	for (char *dash = name; (dash = strchr(dash, '-'));)
		*dash = '_';
}

/* Whether this is an srun that makes a step in an allocation that is there already. */
static bool makes_step(void)
{
	return spank_context() == S_CTX_LOCAL && (getenv("SLURM_JOB_ID") || getenv("SLURM_JOBID"));
}

int plugin_local_class(const char *value, struct err *err)
{
	char name[96], shown[CLASS_NAME_MAX * 2];
	const char *job;

	if (!makes_step())
		return 0;
	inherited_name(OPTION_CLASS, name);
	job = getenv(name);
	if (job && !strcmp(job, value))
		return 0;
	return err_set(err, EINVAL,
		       "--fabric=%s: the nodes of this job were chosen with %s%s and stay; leave "
		       "the option out here",
		       value, job ? "--fabric=" : "no --fabric",
		       job ? text_printable(job, shown, sizeof(shown)) : "");
}

void plugin_local_post_opt(const struct plugin *p)
{
	char name[96];

	if (spank_context() != S_CTX_LOCAL || makes_step())
		return;
	for (int i = 0; i < OPTION_COUNT; i++)
		if (p->option[i][0]) {
			inherited_name((enum plugin_option)i, name);
			setenv(name, p->option[i], 1);
		}
}
