// Refusals of the IPU backend: each message says what to change.
#include <gtest/gtest.h>

#include <string>

#include "backend_ipu/bert_net.h"
#include "cnntrain/base/error.h"
#include "cnntrain/parallel/communicator.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/thread_communicators.h"
#include "train/staged.h"

namespace cnntrain::run::testing {
namespace {

const std::string kNet = "--backend ipu --dataset cifar-10 --model-size 8 --micro-batch-size 1 ";
const std::string kTwo = "--pipeline --pipeline-splits stage2/unit1 --gradient-accumulation-count 4 ";

TEST(IpuRefuses, MoreIpusThanThereAre) {
    EXPECT_THAT(message_of(ErrorKind::unsupported, [] { CompiledNet net(Line{kNet + "--replicas 65"}); }),
                AllOf(HasSubstr("65 IPUs"), HasSubstr("--replicas")));
    EXPECT_THAT(
        message_of(ErrorKind::unsupported, [] { CompiledNet net(Line{kNet + kTwo + "--shards 2 --replicas 33"}); }),
        HasSubstr("66 IPUs"));
}

TEST(IpuRefuses, InterleavedStagesThatShareAnIpu) {
    EXPECT_THAT(
        message_of(ErrorKind::usage, [] { CompiledNet net(Line{kNet + kTwo + "--pipeline-schedule Interleaved"}); }),
        AllOf(HasSubstr("IPU"), HasSubstr("--shards")));
    EXPECT_THAT(message_of(ErrorKind::usage,
                           [] {
                               BertNet net(
                                   "--backend ipu --precision 32 --micro-batch-size 1 --gradient-accumulation-count 12 "
                                   "--pipeline-stages [[\"emb\",\"pos\"],[\"hid\",\"hid\"],[\"mlm\",\"nsp\"]] "
                                   "--device-mapping 0 1 0 --pipeline-schedule Interleaved");
                           }),
                HasSubstr("IPU"));
}

TEST(IpuRefuses, SeveralProcesses) {
    const auto communicators = comm::make_thread_communicators(2, {.timeout_seconds = 60});
    EXPECT_THAT(message_of(ErrorKind::unsupported,
                           [&] {
                               CompiledNet net(Line{kNet + "--replicas 2", {.communicator = communicators[0].get()}});
                           }),
                HasSubstr("--replicas 4"));
}

TEST(IpuRefuses, TooFewMicroBatchesForThePipeline) {
    EXPECT_THAT(message_of(ErrorKind::usage,
                           [] {
                               CompiledNet net(Line{kNet + "--pipeline --pipeline-splits stage2/unit1 --shards 2 "
                                                           "--pipeline-schedule Grouped "
                                                           "--gradient-accumulation-count 1"});
                           }),
                HasSubstr("gradient-accumulation-count"));
}

TEST(IpuRefuses, NamesThatTheGraphDoesNotHave) {
    CompiledNet net(Line{kNet});
    const std::string known = net.executable().variable_names().front();
    const std::string unknown = known + "x";
    EXPECT_THAT(message_of(ErrorKind::internal, [&] { net.executable().store(unknown); }),
                AllOf(HasSubstr("'" + unknown + "'"), HasSubstr(known)));
    EXPECT_THAT(message_of(ErrorKind::internal, [&] { net.executable().output("los"); }), HasSubstr("'loss'"));
    EXPECT_THAT(message_of(ErrorKind::internal, [&] { net.executable().gradient(unknown); }),
                HasSubstr("'" + unknown + "'"));
    const HostTensor other(TensorDesc{DType::f32, {7}});
    EXPECT_THAT(message_of(ErrorKind::data, [&] { net.executable().load(known, other); }),
                AllOf(HasSubstr(known), HasSubstr("[7]")));
}

TEST(IpuRefuses, ToTimeSingleOperations) {
    CompiledNet net(Line{kNet});
    EXPECT_THAT(message_of(ErrorKind::unsupported, [&] { net.executable().set_profiling(true); }),
                HasSubstr("--backend"));
}

}  // namespace
}  // namespace cnntrain::run::testing
