/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_slurm.c - what sfabric-slurm says of a job: a JOB object, or where the input is none, the
 * gres detail of one host.
 */
#include "fuzz.h"
#include "slurm_call.h"

static void check_gpus(const struct job_gpus *g)
{
	must(g->known || (g->count == 0 && !g->index));
	for (size_t i = 1; i < g->count; i++)
		must(g->index[i - 1] <= g->index[i]);
}

static void check_job(json_object *object)
{
	struct err err = { "" };
	struct job_facts *f = job_facts_from_json(object, &err);

	must(f || err.text[0]);
	if (!f)
		return;
	must(f->job > 0 && f->state && f->host_count <= JOB_MAX_HOSTS && f->restarts >= -1);
	for (size_t i = 0; i < f->host_count; i++) {
		must(f->hosts[i] != NULL);
		check_gpus(&f->gpus[i]);
	}
	job_facts_free(f);
}

static void run(const char *data, size_t len)
{
	json_object *object = json_parse(data, len, "fuzz", NULL);
	char *text = fuzz_text(data, len);
	struct job_gpus gpus;

	if (object)
		check_job(object);
	json_object_put(object);
	must(job_gpus_parse(text, &gpus) == 0);
	check_gpus(&gpus);
	free(gpus.index);
	free(text);
}

const struct fuzz_target fuzz_slurm = { "slurm", "", run };
