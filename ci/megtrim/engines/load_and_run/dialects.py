"""The two command-line dialects of ``load_and_run``, as data: syntax and list of flags.

``SDK``: up to 1.6; ``LITE``: from 1.7 on, by gflags. Read at v1.0.0 to v1.6.0, v1.7.0 to v1.13.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

from megtrim.libs.util.value import Value

_GFLAGS_SWITCHES = frozenset({"help", "helpfull", "helpshort", "version"})
"""Flags of gflags itself. Those that read flags from elsewhere are reserved."""


class Dialect(Value):
    name: str
    literal: bool
    """Whether a flag must be spelt exactly: two dashes, ``-`` in the name, no ``=``."""
    switches: frozenset[str]
    values: frozenset[str]
    """Flags whose value is the next argument, even if it looks like a flag."""
    optional: frozenset[str] = frozenset()
    """Those of ``values`` that do not take an argument which begins with two dashes."""
    dumps_warm_ups: bool = False
    """Whether outputs are dumped after each run, warm-ups included, instead of after the last."""
    closed: bool = True
    other_names: Mapping[str, str] = field(default_factory=dict)

    def knows(self, flag: str) -> bool:
        if self.is_switch(flag) or flag in self.values:
            return True
        return not self.closed and flag not in self.other_names

    def is_switch(self, flag: str) -> bool:
        """In gflags, ``noNAME`` turns one off."""
        turned = flag if self.literal else flag.removeprefix("no")
        return flag in self.switches or turned in self.switches

    def of_tree(self, switches: frozenset[str], values: frozenset[str]) -> Dialect:
        """These lists go first: sources show less clearly whether a flag takes a value."""
        found = switches | values
        plain = (found & self.switches) | (switches - self.values)
        # The program's sources do not name the flags of the parser.
        of_parser = frozenset() if self.literal else _GFLAGS_SWITCHES
        return replace(self, switches=plain | of_parser, values=found - plain)


_WINOGRAD = "winograd_transform"
_PREPROCESS = "weight_preprocess"
OTHER_NAMES = {_WINOGRAD: _PREPROCESS, _PREPROCESS: _WINOGRAD}

SDK = Dialect(
    name="load_and_run up to 1.6",
    literal=True,
    switches=frozenset(
        {
            "binary_equal_between_batch",
            "c_opr_lib_with_param",
            "check_dispatch",
            "const_shape",
            "copy_to_host",
            "cpu",
            "cpu_default",
            "disable_assert_throw",
            "disable_mem_opt",
            "enable_chwn4",
            "enable_fuse_conv_bias_nonlinearity",
            "enable_fuse_conv_bias_with_z",
            "enable_fuse_preprocess",
            "enable_jit",
            "enable_nchw32",
            "enable_nchw4",
            "enable_nchw44",
            "enable_nchw44_dot",
            "enable_nchw64",
            "enable_nchw88",
            "enable_nhwcd4",
            "fake_first",
            "fast_run",
            "full_run",
            "io_dump_stderr",
            "io_dump_stdout",
            "no_sanity_check",
            "record_comp_seq",
            "record_comp_seq2",
            "reproducible",
            "share_param_mem",
            "tensorrt",
            "verbose",
            "wait_gdb",
            _PREPROCESS,
            _WINOGRAD,
        }
    ),
    values=frozenset(
        {
            "bin_io_dump",
            "bin_out_dump",
            "c_opr_lib",
            "check_var_value",
            "fast_run_algo_policy",
            "fast_run_shared_batch_size",
            "get_static_mem_info",
            "input",
            "io_dump",
            "iter",
            "layout_transform",
            "layout_transform_dump",
            # By its own description it has no value, but it skips the next argument.
            "model_info",
            "multi_thread_core_ids",
            "multithread",
            "multithread_default",
            "profile",
            "profile_host",
            "range",
            "tensorrt_cache",
            "thread",
            "warmup_iter",
            "workspace_limit",
        }
    ),
    optional=frozenset({"layout_transform"}),
    other_names=OTHER_NAMES,
)

LITE = Dialect(
    name="load_and_run from 1.7 on",
    literal=False,
    dumps_warm_ups=True,
    switches=_GFLAGS_SWITCHES
    | frozenset(
        {
            "android_nn",
            "binary_equal_between_batch",
            "c_opr_lib_with_param",
            "check_dispatch",
            "const_shape",
            "copy_to_host",
            "cpu",
            "cpu_default",
            "cuda",
            "disable_assert_throw",
            "disable_mem_opt",
            "enable_chwn4",
            "enable_fuse_conv_bias_nonlinearity",
            "enable_fuse_conv_bias_with_z",
            "enable_fuse_preprocess",
            "enable_ioc16",
            "enable_jit",
            "enable_nchw32",
            "enable_nchw4",
            "enable_nchw44",
            "enable_nchw44_dot",
            "enable_nchw64",
            "enable_nchw88",
            "enable_nhwcd4",
            "fake_first",
            "fast_run",
            "fitting",
            "full_run",
            "fuse_grain",
            "io_dump_stderr",
            "io_dump_stdout",
            "lite",
            "mdl",
            "model_info",
            "no_sanity_check",
            "optimize_for_inference",
            "record_comp_seq",
            "record_comp_seq2",
            "reproducible",
            "share_param_mem",
            "tensorrt",
            "verbose",
            "wait_gdb",
            _PREPROCESS,
        }
    ),
    values=frozenset(
        {
            "batch_size",
            "bin_io_dump",
            "bin_out_dump",
            "c_opr_init_interface",
            "c_opr_lib",
            "check_var_value",
            "dump_fitting_model",
            "fast_run_algo_policy",
            "fast_run_shared_batch_size",
            "get_static_mem_info",
            "input",
            "io_dump",
            "iter",
            "layout_transform",
            "layout_transform_batch_size",
            "layout_transform_dump",
            "model_dump",
            "multi_thread_core_ids",
            "multithread",
            "multithread_default",
            "pack_cache",
            "pack_info_cryption",
            "pack_info_json",
            "pack_model_cryption",
            "packed_model_dump",
            "profile",
            "profile_host",
            "range",
            "tensorrt_cache",
            "thread",
            "warmup_iter",
            "workspace_limit",
        }
    ),
    other_names=OTHER_NAMES,
)
