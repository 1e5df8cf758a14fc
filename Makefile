# SPDX-License-Identifier: MIT
#
#   sudo make demo     install missing packages, build, record an example, show the result
#   sudo make check    install missing packages, build, test every promise once
#   make               build; needs no root (sudo make deps installs the packages for it)
#   make install       uninstall, with prefix= and DESTDIR=; NO_BUILD=1 installs the present build
#   make install-tests tests that need no source and no compiler, for the installed programs
#   make dist          the tarball of the last commit, which builds without git
#
#   make test T=NAME   one test (live/truth), or those with NAME in their name
#   make unit golden   groups of tests without root; live and fuzz are the others
#   make check-long    tests that take longer; make bench: measurements; make lint: static checks
#   make arm64         builds all for arm64 into build/arm64; fetches libraries, needs no root
#
#   make compile_commands.json tags     for editors
#   make clean deps-check help          deps-check: packages for the tests; help: this text
#
# Variables: V=1 shows commands; DEBUG=1; SAN=1 (address and undefined behaviour sanitizers);
# B=DIR is the build folder; CROSS=aarch64-linux-gnu- builds for another machine, with its libraries
# from SYSROOT=DIR or from Debian's multiarch packages; CC CLANG BPFTOOL PKG_CONFIG MPICC CTAGS.
# CPPFLAGS, CFLAGS and LDFLAGS follow our own flags, so they win. A new source file needs no line here.

MAKEFLAGS += --no-builtin-rules
.SUFFIXES:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := all

prefix  ?= /usr/local
bindir  ?= $(prefix)/bin
mandir  ?= $(prefix)/share/man
datadir ?= $(prefix)/share/ovni-bpf
docdir  ?= $(prefix)/share/doc/ovni-bpf
libdir  ?= $(prefix)/lib
incdir  ?= $(prefix)/include
# Of Python below the prefix, where it looks for modules; /usr/local has a folder for each version.
pydir   ?= $(or $(shell python3 -c 'import sys; print(next((p for p in sys.path if \
	p.startswith("$(prefix)/lib/python") and p.endswith("-packages")), ""))' 2>/dev/null),$(prefix)/lib/python3/dist-packages)
testdir ?= $(prefix)/lib/ovni-bpf/tests
unitdir ?= $(prefix)/lib/systemd/system
bashdir ?= $(prefix)/share/bash-completion/completions
zshdir  ?= $(prefix)/share/zsh/site-functions
sysconfdir ?= $(if $(filter /usr /usr/local,$(prefix)),/etc,$(prefix)/etc)

ifeq ($(origin CC),default)
CC := $(CROSS)gcc $(SYSROOT:%=--sysroot=%)
endif
CLANG      ?= clang
LLVM_STRIP ?= llvm-strip
BPFTOOL    ?= $(shell command -v bpftool 2>/dev/null || echo /usr/sbin/bpftool)
PKG_CONFIG ?= pkg-config
MPICC      ?= mpicc
INSTALL    ?= install

VERSION := $(shell cat VERSION)
# A tarball inside of another repository has no commit.
COMMIT  := $(or $(if $(wildcard .git),$(shell git describe --always --dirty 2>/dev/null)),release)

ifneq ($(CROSS),)
B ?= build-$(CROSS:%-=%)
endif
ifeq ($(SAN),1)
B ?= build-san
SANFLAGS := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
else
B ?= build
endif
# The sanitizers find no less at -O1, which compiles in two thirds of the time.
OPT := $(if $(DEBUG),-Og,$(if $(SANFLAGS),-O1,-O2))

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
	-Wwrite-strings -Wundef -Wvla -Wno-missing-field-initializers \
	-Werror=implicit-function-declaration -Werror=return-type
WARN += $(if $(findstring clang,$(CC)),-Wno-unknown-attributes) # noclone is gcc's
# Builds in different folders are identical: no file names its folder.
SAME_PATHS := -ffile-prefix-map=$(CURDIR)=. $(if $(filter /%,$(B)),-ffile-prefix-map=$(abspath $(B))=build)
OUR_CPPFLAGS := -D_GNU_SOURCE -I. -I$(B) -DVERSION='"$(VERSION)"' -DCOMMIT='"$(COMMIT)"' \
	-DDATADIR='"$(datadir)"'
PIC := -fPIE
OUR_CFLAGS = -std=gnu11 -g $(OPT) -fstack-protector-strong $(PIC) $(WARN) $(SAME_PATHS) $(SANFLAGS)
OUR_LDFLAGS := -pie -Wl,-z,relro,-z,now $(SANFLAGS)
COMPILE_FLAGS = $(OUR_CPPFLAGS) $(CPPFLAGS) $(OUR_CFLAGS) $(CFLAGS)
LINK_FLAGS = $(OUR_LDFLAGS) $(CFLAGS) $(LDFLAGS)

# One aligned line a step; V=1 shows the command itself.
ifeq ($(V),1)
Q :=
msg = @:
else
Q := @
msg = @printf '  %-8s %s\n' '$(1)' '$(2)'
endif

# ---- what is where -----------------------------------------------------------------------------

objs = $(patsubst %.c,$(B)/%.o,$(1))

# The C files below a folder; a program's main.c belongs to the program alone.
sources = $(sort $(shell find $(1) -name '*.c' -not -name '*.bpf.c' -not -name main.c))

TRACE_OBJS := $(call objs,$(call sources,trace))
EMU_OBJS   := $(call objs,$(call sources,emu))
USER_OBJS  := $(call objs,$(call sources,user))
# The programs that need MPI, built where there is one.
MPI_MAINS  := tools/sync/main.c tools/job/main.c
MPI_TOOLS  := $(if $(CROSS),,$(if $(shell command -v $(MPICC)),$(B)/bin/ovni-sync $(B)/bin/ovni-job))
MPI_OBJS   := $(call objs,$(MPI_MAINS) tools/sync/clock_table.c)
# A program of tools/ is a file, or a folder with a main.c.
TOOL_MAINS := $(filter-out $(MPI_MAINS),$(wildcard tools/*.c tools/*/main.c))
TOOLS      := $(patsubst tools/%,$(B)/bin/ovni-%,$(patsubst %.c,%,$(patsubst %/main.c,%,$(TOOL_MAINS))))
# Programs of another machine cannot be asked for their options.
COMPLETION := $(if $(CROSS),,$(B)/completion.bash $(B)/completion.zsh)
TOOL_OBJS  := $(filter-out $(MPI_OBJS) $(call objs,$(wildcard tools/*.c)),$(call objs,$(call sources,tools)))
# What defines the maps is linked first: bpftool 7.1 forgets the place of a map seen as extern before.
BPF_OBJS   := $(patsubst %.bpf.c,$(B)/%.bpf.o,$(filter bpf/maps.bpf.c,$(wildcard bpf/*.bpf.c)) \
	$(filter-out bpf/maps.bpf.c,$(wildcard bpf/*.bpf.c bpf/why/*.bpf.c bpf/job/*.bpf.c)))
SKELETON   := $(if $(BPF_OBJS),$(B)/bpf/ovni.skel.h)

PROGRAMS := $(B)/bin/ovni-bpf $(B)/bin/ovni-emu $(TOOLS) $(MPI_TOOLS)
UNIT_TESTS := $(patsubst %.c,$(B)/%,$(wildcard tests/unit/*.c))
WORKLOADS  := $(patsubst %.c,$(B)/%,$(wildcard tests/workloads/*.c))
BENCHES    := $(patsubst %.c,$(B)/%,$(wildcard tests/bench/*.c))
TEST_AIDS  := $(patsubst %.c,$(B)/%,$(wildcard tests/live/*.c tests/golden/*.c))

LIBTRACE := $(B)/libtrace.a
LIBEMU   := $(B)/libemu.a
LIBUSER  := $(B)/libuser.a
LIBTOOLS := $(B)/libtools.a

# The libraries for other programs: libovni-loom, with which a simulator records itself, needs only
# libc; libovni-trace reads traces. SO: the version of their ABI.
SO        := 1
PUBLIC    := ovni-loom ovni-trace
PUBLIC_A  := $(PUBLIC:%=$(B)/lib%.a)
PUBLIC_SO := $(PUBLIC:%=$(B)/lib%.so.$(SO))
PUBLIC_H  := $(addprefix $(B)/include/ovni-,trace/reader.h loom/writer.h loom/loom_record.h loom/controls.h)
LOOM_OBJS := $(call objs,$(patsubst %,trace/loom/%.c,loom_record controls stats/counters \
	stats/sweep write/loom_channel write/loom_writer write/run_output write/run_stats_write write/settings) trace/base/text.c trace/base/hash.c)

# Only what reads Pallas archives is linked with zstd, and what names system calls with libseccomp.
TRACE_LIBS := -lcjson -lm -Wl,--push-state,--as-needed -lzstd -lseccomp -Wl,--pop-state
EMU_LIBS   := -lz -lpthread
USER_LIBS  := -lbpf -Wl,--push-state,--as-needed -ldw -liberty -lcapstone -Wl,--pop-state -lelf -lz -lcap-ng \
	-lpthread

.PHONY: all unit-tests workloads
all: $(PROGRAMS) $(PUBLIC_A) $(PUBLIC_SO) $(PUBLIC_H) $(COMPLETION)
unit-tests: $(UNIT_TESTS)
workloads: $(WORKLOADS)
FAULTS     := $(patsubst %.c,$(B)/%.so,$(wildcard tests/faults/*.c))
TEST_BINARIES := $(UNIT_TESTS) $(WORKLOADS) $(TEST_AIDS) $(FAULTS) $(B)/tests/bench/generate
test-programs: all $(TEST_BINARIES) $(B)/vectors
installed-tests: $(TEST_BINARIES) $(B)/vectors
.PHONY: test-programs installed-tests

# ---- rules -------------------------------------------------------------------------------------

# What is missing is said once, with the remedy, and not as a compiler's "No such file".
ifeq ($(filter clean deps deps-% dist uninstall help demo check check-long,$(MAKECMDGOALS)),)
purpose := $(if $(filter test-programs test unit golden live fuzz,$(MAKECMDGOALS)),check,build)
missing := $(shell tests/deps.sh --missing $(purpose))
ifneq ($(missing),)
$(error missing Debian packages: $(missing); run 'sudo make deps-$(purpose)' to install them)
endif
endif

$(B)/%.o: %.c
	$(call msg,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(COMPILE_FLAGS) -MMD -MP -c -o $@ $<

# The recorder's session includes the skeleton; dependencies of the first build.
$(USER_OBJS) $(B)/user/cli/main.o: | $(SKELETON)

# Lines by the million: what is inlined and unrolled there pays.
$(EMU_OBJS) $(TRACE_OBJS) $(call objs,$(wildcard tools/view/*.c tools/export/*.c)): OPT := $(if $(DEBUG)$(SANFLAGS),$(OPT),-O3)

# The version and the folder of the data are in these: another commit or prefix rebuilds them.
$(B)/version.stamp: FORCE
	@mkdir -p $(@D)
	@echo '$(VERSION) $(COMMIT) $(datadir)' | cmp -s - $@ || echo '$(VERSION) $(COMMIT) $(datadir)' >$@
FORCE:
.PHONY: FORCE
$(B)/trace/base/build_info.o $(B)/emu/cfg.o: $(B)/version.stamp

$(LIBTRACE): $(TRACE_OBJS)
$(LIBEMU): $(EMU_OBJS)
$(LIBUSER): $(USER_OBJS)
$(LIBTOOLS): $(TOOL_OBJS)
$(LIBTRACE) $(LIBEMU) $(LIBUSER) $(LIBTOOLS):
	$(call msg,AR,$@)
	@mkdir -p $(@D)
	$(Q)rm -f $@ && $(CROSS)ar qcsD $@ $^

# All in them is hidden but what the public headers declare; a static library is one object, in
# which the rest is local.
$(TRACE_OBJS): PIC := -fPIC -fvisibility=hidden
$(TRACE_OBJS): trace/lib/public.map
$(B)/libovni-loom.%: PARTS = $(LOOM_OBJS)
$(B)/libovni-trace.%: PARTS = $(B)/trace/lib/reader.o $(LIBTRACE)
$(B)/libovni-trace.so.$(SO): NEEDS := $(TRACE_LIBS) -lpthread
$(PUBLIC_A:.a=.o) $(PUBLIC_SO): $(LOOM_OBJS) $(LIBTRACE) trace/lib/public.map
$(PUBLIC_A:.a=.o):
	$(call msg,LINK,$@)
	$(Q)$(CC) -r -nostdlib -o $@ $(PARTS)
	$(Q)$(CROSS)objcopy --localize-hidden $@

# The headers as they are installed.
$(B)/include/ovni-trace/reader.h: trace/lib/reader.h
$(B)/include/ovni-loom/writer.h: trace/loom/write/loom_writer.h
$(B)/include/ovni-loom/controls.h: trace/loom/controls.h
$(B)/include/ovni-loom/loom_record.h: trace/loom/loom_record.h
$(PUBLIC_H):
	@mkdir -p $(@D)
	$(Q)sed 's|^.include "trace/loom/\(.*\)"|#include <ovni-loom/\1>|' $< >$@
EXAMPLES := $(addprefix tests/golden/,loomsim.c longest_waits.c)
$(call objs,$(EXAMPLES) tests/golden/loom_random.c tests/golden/library.c): OUR_CPPFLAGS += -I$(B)/include
$(call objs,$(EXAMPLES) tests/golden/loom_random.c tests/golden/library.c): | $(PUBLIC_H)

$(PUBLIC_A): %.a: %.o
	$(call msg,AR,$@)
	$(Q)rm -f $@ && $(CROSS)ar qcsD $@ $<

$(PUBLIC_SO):
	$(call msg,LINK,$@)
	$(Q)$(CC) $(filter-out -pie,$(LINK_FLAGS)) -shared -Wl,-soname,$(@F) \
		$(if $(SANFLAGS),,-Wl,--no-undefined) -Wl,--version-script=trace/lib/public.map -o $@ $(PARTS) $(NEEDS)

$(B)/bin/ovni-bpf: $(B)/user/cli/main.o $(LIBUSER) $(LIBTRACE)
	$(call msg,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LINK_FLAGS) -o $@ $^ $(USER_LIBS) $(TRACE_LIBS)

$(B)/bin/ovni-emu: $(B)/emu/main.o $(LIBEMU) $(LIBTRACE)
	$(call msg,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LINK_FLAGS) -o $@ $^ $(EMU_LIBS) $(TRACE_LIBS)

TOOL_LIBS := $(LIBTOOLS) $(LIBEMU) $(LIBTRACE)
$(B)/bin/ovni-export: DATABASE_LIBS := -lsqlite3
$(B)/bin/ovni-%: $(B)/tools/%.o $(TOOL_LIBS)
	$(call msg,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LINK_FLAGS) -o $@ $^ $(EMU_LIBS) $(TRACE_LIBS)
$(B)/bin/ovni-%: $(B)/tools/%/main.o $(TOOL_LIBS)
	$(call msg,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LINK_FLAGS) -o $@ $^ $(EMU_LIBS) $(TRACE_LIBS) $(DATABASE_LIBS)

$(MPI_OBJS) $(MPI_TOOLS): export OMPI_CC = $(CC)
$(MPI_OBJS): $(B)/%.o: %.c
	$(call msg,MPICC,$<)
	@mkdir -p $(@D)
	$(Q)$(MPICC) $(COMPILE_FLAGS) -MMD -MP -c -o $@ $<

$(MPI_TOOLS): $(B)/bin/ovni-%: $(B)/tools/%/main.o $(B)/tools/sync/clock_table.o $(LIBTOOLS) $(LIBTRACE)
	$(call msg,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(MPICC) $(LINK_FLAGS) -o $@ $^ $(TRACE_LIBS)

# The pages of ovni-view and of ovni-report flame: the content policy of each allows only its own
# script and style, by their hashes.
PAGE_HEAD    := tools/view/page/head.html
PAGE_SCRIPTS := $(patsubst %,tools/view/page/%.js,names blocks model path draw panel findings playback view input main)
FLAME_PAGE   := $(addprefix tools/report/flame/page/flame,.js .css _body.html)
sha256_base64 = $$(env printf "$$(sha256sum $(1) | cut -c1-64 | sed 's/../\\x&/g')" | base64)
# $(call make_page,SCRIPTS,STYLE,BODY)
define make_page
	$(call msg,GEN,$@)
	@mkdir -p $(@D)
	$(Q)cat $(1) >$(@:.html=.js)
	$(Q)script=$(call sha256_base64,$(@:.html=.js)); style=$(call sha256_base64,$(2)); \
	{ sed "s|@SCRIPT_HASH@|$$script|; s|@STYLE_HASH@|$$style|" $(PAGE_HEAD) && \
	printf '<style>' && cat $(2) && printf '</style>\n' && cat $(3) && \
	printf '<script>' && cat $(@:.html=.js) && printf '</script>\n'; } >$@
endef
$(B)/tools/view/page.html: $(PAGE_HEAD) tools/view/page/page.css tools/view/page/body.html $(PAGE_SCRIPTS)
	$(call make_page,$(PAGE_SCRIPTS),tools/view/page/page.css,tools/view/page/body.html)
$(B)/tools/report/flame/flame.html: $(PAGE_HEAD) $(FLAME_PAGE)
	$(call make_page,$(wordlist 1,1,$(FLAME_PAGE)),$(wordlist 2,2,$(FLAME_PAGE)),$(lastword $(FLAME_PAGE)))
$(B)/tools/view/page_source.o $(B)/tools/report/flame/flame_page.o: OUR_CFLAGS += -Wa,-I$(B)
$(B)/tools/view/page_source.o: $(B)/tools/view/page.html
$(B)/tools/report/flame/flame_page.o: $(B)/tools/report/flame/flame.html

# Completion of shells, from --help of all programs.
$(B)/completion.%: tools/completion.sh $(PROGRAMS)
	$(call msg,GEN,$@)
	$(Q)tools/completion.sh $* $(PROGRAMS) >$@

# BPF: one object a topic, linked into one, and its skeleton.
MACHINE    := $(shell $(CC) -dumpmachine)
BPF_CFLAGS := -g -O2 -mcpu=v3 -target bpf -D__TARGET_ARCH_$(patsubst aarch64%,arm64,$(patsubst \
	x86_64%,x86,$(firstword $(subst -, ,$(MACHINE))))) -I. -Ivmlinux \
	-idirafter /usr/include/$(shell $(CC) -print-multiarch 2>/dev/null) -Wall -Werror $(SAME_PATHS)
$(B)/bpf/%.bpf.o: bpf/%.bpf.c
	$(call msg,BPF,$<)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -MMD -MP -c -o $@ $<
	$(Q)$(LLVM_STRIP) -g $@

$(B)/bpf/ovni.o: $(BPF_OBJS)
	$(call msg,BPFLINK,$@)
	$(Q)$(BPFTOOL) gen object $@ $^

$(B)/bpf/ovni.skel.h: $(B)/bpf/ovni.o
	$(call msg,SKEL,$@)
	$(Q){ echo '/* NOLINTBEGIN */'; $(BPFTOOL) gen skeleton $< name ovni && \
		echo '/* NOLINTEND */'; } >$@

$(UNIT_TESTS): $(B)/tests/unit/%: $(B)/tests/unit/%.o $(LIBUSER) $(LIBTOOLS) $(LIBEMU) $(LIBTRACE)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(LINK_FLAGS) -o $@ $^ -lcmocka $(USER_LIBS) $(EMU_LIBS) $(TRACE_LIBS)

$(WORKLOADS): $(B)/tests/workloads/%: tests/workloads/%.c tests/workloads/workload.h
	$(call msg,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -D_GNU_SOURCE -std=gnu11 -g -O2 $(WARN) -o $@ $< -lpthread

$(B)/tests/live/loadall $(B)/tests/bench/bpfstats: AID_LIBS := -lbpf
$(B)/tests/golden/many_cpus: AID_LIBS := $(LIBUSER) $(LIBTRACE) $(USER_LIBS)
$(B)/tests/golden/many_cpus: $(LIBUSER)
$(BENCHES) $(TEST_AIDS): $(B)/tests/%: $(B)/tests/%.o $(LIBTRACE)
	$(call msg,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LINK_FLAGS) -o $@ $^ $(AID_LIBS) $(TRACE_LIBS) -lpthread -lm

# Preloaded into our programs by tests that make calls fail: never sanitized.
$(FAULTS): $(B)/%.so: %.c
	$(call msg,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -D_GNU_SOURCE -std=gnu11 -g -O2 $(WARN) -fPIC -shared -o $@ $< -ldl -lpthread

# The conformance vectors, which tests find in $CONFORMANCE (tests/vectors/pack.sh makes the archive).
$(B)/vectors: tests/vectors/vectors.tar.xz
	$(call msg,UNPACK,$@)
	$(Q)rm -rf $@ $@.new && mkdir -p $@.new && tar -xJf $< -C $@.new && mv $@.new $@ && touch $@

.PRECIOUS: $(B)/%.o $(B)/bpf/%.bpf.o
# Only of files that still exist: a build folder outlives a move.
-include $(patsubst %.c,$(B)/%.d,$(shell find bpf emu tests tools trace user -name '*.c'))

# ---- tests -------------------------------------------------------------------------------------

.PHONY: deps deps-build deps-check deps-check-long check check-long test unit golden live fuzz lint bench demo
deps: deps-build
deps-build deps-check deps-check-long:
	@tests/deps.sh --install $(@:deps-%=%)

# A build that is not told how many jobs to run uses all CPUs.
ALL_CPUS = $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc))

# Every promise once. On a fresh machine this is the only command.
check: deps-check
	+$(MAKE) $(ALL_CPUS) test-programs
	tests/run --build $(B) unit golden fuzz live

# What takes longer: all seeds, sanitizers, valgrind, kills and faults everywhere, fuzzing, MPI.
check-long: deps-check-long
	+$(MAKE) $(ALL_CPUS) test-programs
	+$(MAKE) $(ALL_CPUS) SAN=1 test-programs
	+! tests/sysroot.sh $(B)/arm64/sysroot arm64 || $(MAKE) $(ALL_CPUS) arm64
	tests/run --build $(B) --san build-san --long unit unit-san golden fuzz live

# All for arm64; the test golden/arm64 runs it with qemu-user. CC is that of this machine.
.PHONY: arm64
arm64:
	tests/sysroot.sh $(B)/arm64/sysroot arm64
	+$(MAKE) $(ALL_CPUS) B=$(B)/arm64 CROSS=aarch64-linux-gnu- SYSROOT=$(abspath $(B)/arm64/sysroot) \
		CC='$(filter ccache,$(CC)) aarch64-linux-gnu-gcc --sysroot=$(abspath $(B)/arm64/sysroot)' test-programs

# One test (T=group/name), or all with the word T in their name.
test: test-programs
	@test -n '$(T)' || { echo "usage: make test T=NAME (a test of tests/README.md, or a word)"; exit 2; }
	@tests/run --build $(B) $(if $(wildcard build-san/bin),--san build-san) -k '$(T)' unit golden fuzz live

unit golden live: test-programs
	tests/run --build $(B) $@

# For longer than in `make check-long`: FUZZ_SECONDS for each fuzzer.
FUZZ_SECONDS ?= 600
fuzz: test-programs
	FUZZ_SECONDS=$(FUZZ_SECONDS) TEST_TIMEOUT=$$(($(FUZZ_SECONDS) + 600)) \
		tests/run --build $(B) --long fuzz

bench: test-programs $(BENCHES)
	tests/bench/run $(B)

demo: deps
	+$(MAKE) all workloads
	tests/demo.sh $(B)

lint:
	tests/lint.sh $(B)

# ---- installation ------------------------------------------------------------------------------

.PHONY: install uninstall clean
confdir := $(sysconfdir)/ovni-bpf
CFGS    := $(sort $(shell find emu/cfg -name '*.cfg'))

# Every installed file once. $(call installed,VERB): VERB is put or drop, and gets FOLDER,MODE,FILES;
# put_as or drop_as gets FOLDER,NAME,FILE: a file with paths and the version to be filled in.
define installed
$(call $(1),$(bindir),755,$(PROGRAMS))
$(call $(1)_as,$(unitdir),ovni-bpf@.service,user/systemd/ovni-bpf@.service)
$(foreach d,$(sort $(dir $(CFGS))),$(call $(1),$(datadir)/$(patsubst emu/%/,%,$(d)),644,$(wildcard $(d)*.cfg))
)
$(call $(1),$(datadir)/apis,644,$(wildcard user/apis/*.json))
$(foreach n,1 3 5 8,$(call $(1),$(mandir)/man$(n),644,$(wildcard docs/man/*.$(n)))
)
$(if $(COMPLETION),$(foreach p,$(notdir $(PROGRAMS)),$(call $(1)_as,$(bashdir),$(p),$(B)/completion.bash)
))
$(if $(COMPLETION),$(call $(1)_as,$(zshdir),_ovni,$(B)/completion.zsh))
$(call $(1),$(docdir),644,README.md CHANGELOG.md CONTRIBUTING.md LICENSE bpf/COPYING)
$(call $(1),$(docdir)/docs,644,$(wildcard docs/*.md docs/*.svg docs/*.png))
$(foreach d,internals spec,$(call $(1),$(docdir)/docs/$(d),644,$(wildcard docs/$(d)/*.md))
)
$(call $(1),$(docdir)/examples,644,$(EXAMPLES))
$(call $(1),$(libdir),644,$(PUBLIC_A))
$(call $(1),$(libdir),755,$(PUBLIC_SO))
$(foreach l,$(PUBLIC),$(call $(1)_link,$(libdir),lib$(l).so,lib$(l).so.$(SO))
)
$(call $(1)_as,$(libdir)/pkgconfig,ovni-loom.pc,trace/loom/ovni-loom.pc.in)
$(call $(1)_as,$(libdir)/pkgconfig,ovni-trace.pc,trace/lib/ovni-trace.pc.in)
$(foreach l,$(PUBLIC),$(call $(1),$(incdir)/$(l),644,$(filter $(B)/include/$(l)/%,$(PUBLIC_H)))
)
$(call $(1)_as,$(pydir),ovni_trace.py,trace/lib/ovni_trace.py)
endef
put     = umask 022 && $(INSTALL) -d $(DESTDIR)$(1) && $(INSTALL) -m $(2) $(3) $(DESTDIR)$(1)
drop    = rm -f $(addprefix $(DESTDIR)$(1)/,$(notdir $(3)))
put_as  = umask 022 && $(INSTALL) -d $(DESTDIR)$(1) && sed $(FILL) $(3) >$(DESTDIR)$(1)/$(2) && chmod 644 $(DESTDIR)$(1)/$(2)
drop_as = rm -f $(DESTDIR)$(1)/$(2)
put_link  = ln -sfn $(3) $(DESTDIR)$(1)/$(2)
drop_link = rm -f $(DESTDIR)$(1)/$(2)
FILL    = $(foreach v,bindir confdir libdir incdir VERSION,-e 's|@$(v)@|$($(v))|g')

install: $(if $(NO_BUILD),,all)
	$(call installed,put)
	umask 022 && $(INSTALL) -d $(DESTDIR)$(confdir)

# The folder of the tests has the places of the tree: tests, build (its programs are the installed
# ones), and the files that tests compare with.
.PHONY: install-tests
TESTS_AT = $(DESTDIR)$(testdir)
install-tests: $(if $(NO_BUILD),,installed-tests)
	umask 022 && $(INSTALL) -d $(TESTS_AT) $(sort $(dir $(patsubst $(B)/%,$(TESTS_AT)/build/%,$(TEST_BINARIES))))
	umask 022 && tar -c --exclude=__pycache__ --exclude=tests/live/package.sh tests/run tests/slurm.sh tests/live tests/unit tests/golden \
		user/apis/*.json user/systemd docs/*.md docs/man | tar -x --no-same-owner -C $(TESTS_AT)
	umask 022 && cp -R $(B)/vectors $(TESTS_AT)/build/vectors
	for f in $(patsubst $(B)/%,%,$(TEST_BINARIES)); do $(INSTALL) -m 755 $(B)/$$f $(TESTS_AT)/build/$$f || exit; done
	ln -sfn $(bindir) $(TESTS_AT)/build/bin

# Files of others remain: settings of sessions, own API files.
uninstall:
	$(call installed,drop)
	rm -f $(DESTDIR)$(bindir)/ovni-sync $(DESTDIR)$(bindir)/ovni-job
	rm -rf $(DESTDIR)$(testdir)
	[ ! -d $(DESTDIR)$(dir $(testdir)) ] || rmdir --ignore-fail-on-non-empty $(DESTDIR)$(dir $(testdir))
	for d in $(foreach d,$(datadir) $(docdir) $(incdir)/ovni-loom $(incdir)/ovni-trace $(confdir),$(DESTDIR)$(d)); do \
		[ ! -d $$d ] || find $$d -depth -type d -exec rmdir --ignore-fail-on-non-empty {} + ; done

# The tarball of a release: the files of the last commit. Builds without git, as "release".
.PHONY: dist
dist: TARBALL = $(B)/ovni-bpf-$(VERSION).tar.gz
dist:
	@mkdir -p $(B)
	@git diff --quiet HEAD || echo 'dist: changes that are not committed are left out' >&2
	git archive --prefix=ovni-bpf-$(VERSION)/ HEAD | gzip -9n >$(TARBALL).new
	mv $(TARBALL).new $(TARBALL)

clean:
	rm -rf build build-san $(B)

# ---- for people and editors --------------------------------------------------------------------

.PHONY: help
help:
	@sed -n '3,/^$$/s/^# \{0,1\}//p' Makefile

# Each compiler call that a complete build would make, one entry for each.
compile_commands.json: FORCE
	@$(MAKE) --no-print-directory -nB V=1 test-programs >$@.new
	@sed -n -e 's/[\\"]/\\&/g' -e 's|^\(.* -c -o [^ ]* \([^ ]*\.c\)\)$$|{"directory": "$(CURDIR)", \
	"file": "\2", "command": "\1"},|p' $@.new | sed -e '1s/^/[/' -e '$$s/,$$/]/' >$@
	@rm $@.new

CTAGS ?= ctags
tags: FORCE
	git ls-files '*.[ch]' ':!vmlinux' | $(CTAGS) -L - --languages=C -f $@
