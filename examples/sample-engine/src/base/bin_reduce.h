// What a generated header may say beside its regions: which operators and which elementwise
// modes to keep. Two generations of that header exist and both are understood.
#pragma once

#if defined(MGB_BINREDUCE_VERSION) && MGB_BINREDUCE_VERSION != 20190219 && \
        MGB_BINREDUCE_VERSION != 20220507
#error "the generated header is of a generation that this engine does not know"
#endif

// MEGDNN_ELEMWISE_MODE_ENABLE(ADD, callback) is callback(ADD), or nothing if ADD is dropped.
#if !defined(MEGDNN_ELEMWISE_MODE_ENABLE)
#define MEGDNN_ELEMWISE_MODE_ENABLE(mode, callback) callback(mode)
#endif

// The generated header names operators as mgb::opr::NAME and specialises
// mgb::serialization::OprRegistryCaller, so these names are not ours to choose.
namespace mgb {
namespace serialization {

template <class Entry>
struct OprRegistryCallerDefaultImpl {
    OprRegistryCallerDefaultImpl() { Entry::entry(); }
};

#if defined(MGB_OPR_REGISTRY_CALLER_SPECIALIZE)
// Makes the primary template empty and one specialisation for each operator that is kept.
MGB_OPR_REGISTRY_CALLER_SPECIALIZE
#else
template <class Opr, class Entry>
struct OprRegistryCaller : OprRegistryCallerDefaultImpl<Entry> {};
#endif

}  // namespace serialization
}  // namespace mgb
