/* SPDX-License-Identifier: MIT */
/* doctor: see doctor.h. */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/doctor/doctor.h"
#include "user/doctor/advice.h"
#include "trace/base/json.h"
#include "trace/base/log.h"

#define NAME_WIDTH 26
#define LINE_WIDTH 80

enum key { KEY_JSON = 256 };

static const struct argp_option table[] = {
	{"json", KEY_JSON, 0, 0, "print JSON, for scripts", 0},
	{0},
};

static error_t read_option(int key, char *text, struct argp_state *state)
{
	bool *json = state->input;

	(void)text;
	if (key != KEY_JSON)
		return ARGP_ERR_UNKNOWN;
	*json = true;
	return 0;
}

/* Prints `text` in lines of LINE_WIDTH, those after the first one indented. */
static void print_wrapped(const char *text, int indent)
{
	int column = indent;

	while (*text) {
		int len = (int)strcspn(text, " ");

		if (column > indent && column + 1 + len > LINE_WIDTH) {
			printf("\n%*s", indent, "");
			column = indent;
		}
		column += printf("%s%.*s", column > indent ? " " : "", len, text);
		text += len;
		text += strspn(text, " ");
	}
	putchar('\n');
}

/*
 *   fine  btf                        /sys/kernel/btf/vmlinux, 5321 KiB
 *   stop  CAP_BPF                    missing: no program can be loaded
 *         do: run it through sudo, or ...
 */
static void print_table(const struct finding *findings, size_t count)
{
	unsigned less = 0, stop = 0;

	for (size_t i = 0; i < count; i++) {
		const struct finding *f = &findings[i];
		int indent = 0;

		less += f->verdict == VERDICT_LESS;
		stop += f->verdict == VERDICT_STOP;
		indent = printf("  %-4s  %-*s ", findings_verdict(f->verdict), NAME_WIDTH, f->name);
		print_wrapped(f->found, indent);
		if (*f->remedy) {
			indent = printf("        do: ");
			print_wrapped(f->remedy, indent);
		}
	}
	printf("\n%s\n", stop	? "no recording is possible here: do what stands at 'stop'"
			 : less ? "recording is possible here; what stands at 'less' is restricted"
				: "recording is possible here");
}

static int print_json(const struct finding *findings, size_t count)
{
	struct json *document = json_new_object(), *list, *one;
	char *text = NULL;
	int err = -1;

	if (!document)
		goto out;
	if (!json_put_bool(document, "can_record", findings_permit(findings, count)))
		goto out;
	list = json_put_array(document, "findings");
	for (size_t i = 0; i < count && list; i++) {
		const struct finding *f = &findings[i];

		one = json_put_object(list, NULL);
		if (!one || !json_put_string(one, "name", f->name) ||
		    !json_put_string(one, "verdict", findings_verdict(f->verdict)) ||
		    !json_put_string(one, "found", f->found) ||
		    (*f->remedy && !json_put_string(one, "remedy", f->remedy)))
			goto out;
	}
	text = list ? json_text(document) : NULL;
	if (text)
		err = fputs(text, stdout) < 0 ? -1 : 0;
out:
	if (err)
		log_error("doctor: no memory for the answer");
	free(text);
	json_free(document);
	return err;
}

enum status doctor_run(int argc, char **argv)
{
	static const struct argp argp = {
		.options = table,
		.parser = read_option,
		.doc = "Finds out by trying whether ovni-bpf can record here, and says what is to "
		       "be done if it cannot."
		       "\v"
		       "fine: as it should be; fact: good to know; less: something is not "
		       "possible; "
		       "stop: nothing can be recorded. Exit status: 0 recording is possible, 1 it "
		       "is "
		       "not, 2 wrong usage.",
	};
	struct finding findings[FINDINGS_MAX];
	struct machine machine;
	bool json = false;
	size_t count;
	int err = 0;

	argp_err_exit_status = STATUS_USAGE;
	argv[0] = (char *)"ovni-bpf doctor";
	err = argp_parse(&argp, argc, argv, 0, NULL, &json);
	if (err == ENOMEM) {
		log_error("doctor: no memory to begin with");
		return STATUS_FAILED;
	}
	if (err)
		return STATUS_USAGE;
	machine_look(&machine);
	count = findings_of(&machine, findings);
	if (json)
		err = print_json(findings, count);
	else
		print_table(findings, count);
	if (!err)
		err = flush_stdout();
	return !err && findings_permit(findings, count) ? STATUS_COMPLETE : STATUS_FAILED;
}
