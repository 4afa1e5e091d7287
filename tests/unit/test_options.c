/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_options.c - what the options and the plugstack arguments of fabric.so may say, and the lists
 * that it takes from Slurm.
 */
#include "unit.h"

#include "plugin.h"

static void accept_value(enum plugin_option option, const char *value)
{
	struct err err = { "" };

	if (plugin_option_check(option, value, &err) != 0)
		fail_msg("\"%s\": %s", value, err.text);
}

static void refuse_value(enum plugin_option option, const char *value, const char *sentence)
{
	struct err err = { "" };

	if (plugin_option_check(option, value, &err) != -EINVAL)
		fail_msg("\"%s\" was accepted", value);
	if (!strstr(err.text, sentence))
		fail_msg("\"%s\" does not say \"%s\"", err.text, sentence);
	assert_null(strpbrk(err.text, "\n\033"));
}

static void options_are_checked(void **state)
{
	(void)state;
	accept_value(OPTION_CLASS, "compact,prefer=5");
	accept_value(OPTION_CLASS, "off");
	refuse_value(OPTION_CLASS, "Compact", "a class");
	accept_value(OPTION_SAMPLE, "500ms");
	accept_value(OPTION_SAMPLE, "2m");
	accept_value(OPTION_SAMPLE, "off");
	refuse_value(OPTION_SAMPLE, "1", "an interval");
	refuse_value(OPTION_SAMPLE, "0s", "an interval");
	refuse_value(OPTION_SAMPLE, "1s\n", "an interval");
	refuse_value(OPTION_SAMPLE, "", "an interval");
	accept_value(OPTION_ENV, "default");
	accept_value(OPTION_ENV, "none");
	accept_value(OPTION_ENV, "ucx");
	accept_value(OPTION_ENV, "nvshmem,ucx,nccl");
	refuse_value(OPTION_ENV, "ucx,mpi", "nvshmem");
	refuse_value(OPTION_ENV, "", "nvshmem");
	refuse_value(OPTION_ENV, "\033[2J", "nvshmem");
}

/* What passes the check must fit a packet, or slurmstepd would lose it. */
static void options_fit_a_packet(void **state)
{
	char value[PACKET_WORD + 8];

	(void)state;
	accept_value(OPTION_CLASS,
		     "abcdefghijklmnopqrstuvwxyz-01234,strict,healthy,rank,prefer=10080");
	assert_true(strlen("abcdefghijklmnopqrstuvwxyz-01234,strict,healthy,rank,prefer=10080") <
		    PACKET_WORD);
	memset(value, '0', sizeof(value));
	strcpy(value + sizeof(value) - 3, "1s");
	refuse_value(OPTION_SAMPLE, value, "an interval");
}

static void plugstack_defaults(void **state)
{
	struct plugin_config config;

	(void)state;
	assert_int_equal(plugin_config_parse(&config, 0, NULL, "n1", NULL), 0);
	assert_string_equal(config.run, "/run/slurm-fabric");
	assert_string_equal(config.env, "none");
}

static void plugstack_arguments(void **state)
{
	char *args[] = { (char *)"run=/run/%n/a%n", (char *)"env=nccl,ucx" };
	struct plugin_config config;

	(void)state;
	assert_int_equal(plugin_config_parse(&config, 2, args, "n17", NULL), 0);
	assert_string_equal(config.run, "/run/n17/an17");
	assert_string_equal(config.env, "nccl,ucx");
	assert_int_equal(plugin_config_parse(&config, 2, args, NULL, NULL), 0); /* srun: no node */
	assert_string_equal(config.env, "nccl,ucx");
}

static void bad_arguments_are_named(void **state)
{
	char *args[] = { (char *)"colour=blue", (char *)"env=nccl", (char *)"run=relative" };
	char *env[] = { (char *)"env=default" };
	struct plugin_config config;
	struct err err = { "" };

	(void)state;
	assert_int_equal(plugin_config_parse(&config, 3, args, "n1", &err), -EINVAL);
	assert_non_null(strstr(err.text, "colour=blue")); /* the first one */
	assert_string_equal(config.env, "nccl");
	assert_string_equal(config.run, "/run/slurm-fabric");
	assert_int_equal(plugin_config_parse(&config, 1, env, "n1", &err), -EINVAL);
	assert_string_equal(config.env, "none");
}

static void long_folders_are_refused(void **state)
{
	char arg[PLUGIN_PATH + 16] = "run=/";
	char *args[] = { arg };
	struct plugin_config config;
	struct err err = { "" };

	(void)state;
	memset(arg + 5, 'a', sizeof(arg) - 6);
	arg[sizeof(arg) - 1] = '\0';
	assert_int_equal(plugin_config_parse(&config, 1, args, "n1", &err), -ENAMETOOLONG);
	assert_string_equal(config.run, "/run/slurm-fabric");
	strcpy(arg, "run=/%n%n%n%n%n%n");
	memset(arg + 64, 'n', 200);
	arg[264] = '\0';
	assert_int_equal(plugin_config_parse(&config, 1, args, arg + 64, &err), -ENAMETOOLONG);
}

static void lists_are_counted(void **state)
{
	(void)state;
	assert_int_equal(plugin_list_count("0"), 1);
	assert_int_equal(plugin_list_count("0-3,8,10-11"), 7);
	assert_int_equal(plugin_list_count(""), PACKET_UNKNOWN);
	assert_int_equal(plugin_list_count("3-1"), PACKET_UNKNOWN);
	assert_int_equal(plugin_list_count("1,"), PACKET_UNKNOWN);
	assert_int_equal(plugin_list_count("1-"), PACKET_UNKNOWN);
	assert_int_equal(plugin_list_count("(null)"), PACKET_UNKNOWN);
	assert_int_equal(plugin_list_count("0-999999999"), PACKET_UNKNOWN);
	assert_true(plugin_gpus_valid("0,1,15"));
	assert_false(plugin_gpus_valid("0-3"));
	assert_false(plugin_gpus_valid(""));
	assert_false(plugin_gpus_valid("GPU-1b2c"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_are_checked),
		cmocka_unit_test(options_fit_a_packet),
		cmocka_unit_test(plugstack_defaults),
		cmocka_unit_test(plugstack_arguments),
		cmocka_unit_test(bad_arguments_are_named),
		cmocka_unit_test(long_folders_are_refused),
		cmocka_unit_test(lists_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
