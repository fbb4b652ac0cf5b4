#include "worker/check/reference_store.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <set>

namespace mlc::worker {
namespace {

std::string Relu(int size) {
  const std::string n = std::to_string(size);
  return graph::Workload::Parse("workload v1 tolerance=1e-04 {\n%0 = input() : f32[" + n +
                                "]\n%1 = constant(){value=0.0} : f32[]\n%2 = max(%0, %1) : f32[" +
                                n + "]\nreturn %2\n}\n")
      ->ToText();
}

void Await(ReferenceStore& store) {
  while (store.makers() > 0) {
    std::vector<pollfd> waiting;
    store.AddTo(waiting);
    (void)poll(waiting.data(), waiting.size(), 1000);
    store.Collect();
  }
}

TEST(ReferenceStore, ASecondSetAndThenNewerOnes) {
  ReferenceStore store({});
  WorkloadData* data = *store.Find(Relu(64), 1);
  Await(store);
  ASSERT_EQ(data->sets.size(), 1u) << data->failure.ToString();
  std::set<const std::byte*> used;
  for (int trial = 0; trial < 100; ++trial) {
    used.insert(store.NextSet(*data).bytes().data());
    store.Renew(*data, 100 + static_cast<uint64_t>(trial));
    Await(store);
  }
  EXPECT_EQ(data->sets.size(), 2u);
  EXPECT_GE(used.size(), 2u);
  EXPECT_EQ(*store.Find(Relu(64), 1), data) << "kept";
}

TEST(ReferenceStore, ForgetsWhatIsUnusedWhenFull) {
  ReferenceOptions options;
  options.budget_bytes = 100'000;
  ReferenceStore store(options);
  WorkloadData* busy = *store.Find(Relu(5000), 1);
  busy->users = 1;
  Await(store);
  const std::byte* before = store.NextSet(*busy).bytes().data();
  for (int size = 5001; size < 5010; ++size) {
    ASSERT_TRUE(store.Find(Relu(size), 1).ok());
    Await(store);
  }
  EXPECT_EQ(*store.Find(Relu(5000), 1), busy);
  EXPECT_EQ(busy->sets[0].bytes().data(), before);
}

TEST(ReferenceStore, NoMoreMakersThanAllowed) {
  ReferenceOptions options;
  options.makers = 2;
  ReferenceStore store(options);
  std::vector<WorkloadData*> all;
  for (int size = 100; size < 110; ++size) {
    all.push_back(*store.Find(Relu(size), 1));
    EXPECT_LE(store.makers(), 2);
  }
  EXPECT_EQ(store.makers(), 2);
  EXPECT_TRUE(all.back()->waiting);
  store.SetMakers(3);
  EXPECT_EQ(store.makers(), 3);
  Await(store);
  for (const WorkloadData* data : all) {
    EXPECT_EQ(data->sets.size(), 1u);
    EXPECT_FALSE(data->waiting);
  }
}

// Evaluating takes many times the memory of a set: on a machine of many CPUs, as many makers
// of a network of batch 256 want more than there is.
TEST(ReferenceStore, MakersOfLargeTensorsTakeTurns) {
  ReferenceOptions options;
  options.makers = 4;
  options.maker_bytes = 1 << 20;
  ReferenceStore store(options);
  std::vector<WorkloadData*> all;
  for (int size = 20'000; size < 20'003; ++size) {
    all.push_back(*store.Find(Relu(size), 1));
    EXPECT_EQ(store.makers(), 1);
  }
  Await(store);
  for (const WorkloadData* data : all) EXPECT_EQ(data->sets.size(), 1u);
}

TEST(ReferenceStore, SetsCannotBeWritten) {
  ReferenceStore store({});
  WorkloadData* data = *store.Find(Relu(64), 1);
  Await(store);
  EXPECT_DEATH(const_cast<std::byte*>(store.NextSet(*data).bytes().data())[0] = std::byte{1}, "");
}

// Code that has the process of a runner would begin with taking the protection away.
TEST(ReferenceStore, SetsStayAsTheyAreWhateverIsTried) {
  ReferenceStore store({});
  WorkloadData* data = *store.Find(Relu(64), 1);
  Await(store);
  const SharedMemory& set = store.NextSet(*data);
  const size_t size = set.bytes().size();
  EXPECT_EQ(mprotect(set.bytes().data(), size, PROT_READ | PROT_WRITE), -1);
  EXPECT_EQ(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, set.descriptor(), 0),
            MAP_FAILED);
  EXPECT_EQ(pwrite(set.descriptor(), "x", 1, 0), -1);
  EXPECT_EQ(ftruncate(set.descriptor(), 0), -1);
  EXPECT_TRUE(SharedMemory::Map(dup(set.descriptor())).ok());
}

TEST(ReferenceStore, RefusesTextThatIsNoWorkload) {
  ReferenceStore store({});
  EXPECT_EQ(store.Find("nonsense", 1).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace mlc::worker
