// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster/session/etcd_records.h"

#ifdef MAYFLY_HAS_ETCD

#include "etcd/blocking_register.h"

namespace mayfly {
namespace {

class EtcdRecords final : public ClusterRecords {
 public:
  EtcdRecords(std::unique_ptr<BlockingRegister> records, EtcdOptions options)
      : records_(std::move(records)), options_(std::move(options)) {}

  Result<RegisterSnapshot> read() override { return records_->read(); }
  Result<RegisterSnapshot> read_one() override { return read_one_etcd_member(options_); }
  CommitAnswer commit(const RegisterCommit& commit) override { return records_->commit(commit); }
  void wait_change(Millis timeout) override { (void)records_->wait_change(timeout); }
  Result<std::vector<EtcdEndpointStatus>> members() override { return etcd_status(options_); }

 private:
  const std::unique_ptr<BlockingRegister> records_;
  const EtcdOptions options_;
};

}  // namespace

Result<std::unique_ptr<ClusterRecords>> open_etcd_records(const EtcdOptions& options) {
  auto records = BlockingRegister::open(options);
  if (!records) return records.error();
  return std::unique_ptr<ClusterRecords>(
      std::make_unique<EtcdRecords>(*std::move(records), options));
}

Result<std::vector<std::string>> read_etcd_endpoints(std::string_view list) {
  return parse_etcd_endpoints(list);
}

}  // namespace mayfly

#else

namespace mayfly {
namespace {

Error no_cluster() {
  return {
      Code::unsupported,
      "this program was built without support for clusters: libcurl was missing, or the program "
      "is a static one (build it with libcurl4-openssl-dev installed)"};
}

}  // namespace

Result<std::unique_ptr<ClusterRecords>> open_etcd_records(const EtcdOptions&) {
  return no_cluster();
}

Result<std::vector<std::string>> read_etcd_endpoints(std::string_view) { return no_cluster(); }

}  // namespace mayfly

#endif
