internal import BatonHost
public import BatonModel
package import BatonProcess

/// The host's settings for transfers. They are values of the host's owner, and no job can change them.
public struct TransferSettings: Sendable {
  /// The folder with everything that transfers keep on this host: an absolute path. Key `transfers.folder`.
  public var folder: String
  /// The most bytes in a second that all transfers of the host receive and send together; `nil`, the default, means no
  /// limit. Key `transfers.maxRate`.
  public var maxRate: Int64?
  /// The most bytes that partial files and kept files of the host may have together; by default 100 GiB. Key
  /// `transfers.quota`.
  public var quota: Int64
  /// The room that transfers leave free on the file system, in bytes; by default 1 GiB. Key `transfers.minFree`.
  public var minFree: Int64
  /// How many transfers run at the same time, 1 to 100; by default 4. Key `transfers.atOnce`.
  public var atOnce: Int
  /// The most transfers that the host takes. Further orders are refused.
  package var most: Int
  /// The folders outside of `folder` that transfers may read and write; by default none. Key `transfers.folders`.
  public var folders: [PathPattern]
  /// The names of the servers that transfers may use, such as `files.example.com` or `*.example.com`; `nil`, the
  /// default, means all. Key `transfers.servers`.
  public var servers: [String]?
  /// Where the secrets of header fields are.
  package var secrets: SecretFolder
  /// Which definitions may use which secrets in header fields; by default none. A program takes those of
  /// `SandboxSettings.secrets`. Key `allow.secrets`.
  public var secretPermissions: [SecretPermission]
  /// Which definitions may use which variables of the environment of the transfers process in header fields; by default
  /// none. Key `transfers.variables`.
  public var variablePermissions: [SecretPermission]
  /// Whether the host's owner calls the network constrained; by default `false`. Key `transfers.constrainedNetwork`.
  public var isConstrained: Bool
  /// A file with the certificates to trust, in PEM: an absolute path; `nil`, the default, means those of the system.
  /// Key `transfers.certificates`.
  public var trustedCertificates: String?
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

  /// Creates settings with the defaults that each property describes.
  /// - Parameter folder: an absolute path, such as that of `transfers` in the worker's data folder.
  public init(folder: String) {
    self.folder = folder
    (maxRate, quota, minFree) = (nil, 100 << 30, 1 << 30)
    (atOnce, most) = (4, 10_000)
    (folders, servers) = ([], nil)
    (secrets, secretPermissions, variablePermissions) = (SecretFolder(), [], [])
    (isConstrained, trustedCertificates) = (false, nil)
    (syncBytes, syncInterval) = (64 << 20, .seconds(5))
  }
}
