internal import BatonHost
package import BatonModel
package import BatonProcess

/// The host's settings for transfers. They are values of the host's owner, and no job can change them.
package struct TransferSettings: Sendable {
  /// The folder with everything that transfers keep on this host.
  package var folder: String
  /// The most bytes in a second that all transfers of the host receive and send together; `nil` means no limit.
  package var maxRate: Int64?
  /// The most bytes that partial files and kept files of the host may have together.
  package var quota: Int64
  /// The room that transfers leave free on the file system, in bytes.
  package var minFree: Int64
  /// How many transfers run at the same time.
  package var atOnce: Int
  /// The most transfers that the host takes. Further orders are refused.
  package var most: Int
  /// The folders outside of `folder` that transfers may read and write.
  package var folders: [PathPattern]
  /// The names of the servers that transfers may use, such as `files.example.com` or `*.example.com`; `nil` means all.
  package var servers: [String]?
  /// Where the secrets of header fields are, and which definitions may use which.
  package var secrets: SecretFolder
  package var secretPermissions: [SecretPermission]
  /// Which definitions may use which variables of the environment of the transfers process in header fields.
  package var variablePermissions: [SecretPermission]
  /// Whether the host's owner calls the network constrained.
  package var isConstrained: Bool
  /// A file with the certificates to trust, in PEM; `nil` means those of the system.
  package var trustedCertificates: String?
  /// After how many bytes, or how much time, what has arrived is synced and the journal names it. At most about twice
  /// this is received again after a power loss.
  package var syncBytes: Int
  package var syncInterval: Duration

  /// Why the folder cannot be used; `nil` if it can.
  package var problem: String? {
    let (path, most) = (TransferSocket.path(in: folder), UnixSocket.longestPath)
    return path.utf8.count <= most
      ? nil
      : "the path of the socket in it, \(path), has \(path.utf8.count) bytes, and \(most) is the limit: choose a folder "
        + "with a shorter path"
  }

  package init(folder: String) {
    self.folder = folder
    (maxRate, quota, minFree) = (nil, 100 << 30, 1 << 30)
    (atOnce, most) = (4, 10_000)
    (folders, servers) = ([], nil)
    (secrets, secretPermissions, variablePermissions) = (SecretFolder(), [], [])
    (isConstrained, trustedCertificates) = (false, nil)
    (syncBytes, syncInterval) = (64 << 20, .seconds(5))
  }
}
