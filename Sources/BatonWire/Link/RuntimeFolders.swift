import BatonBase
import SystemPackage

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The folders in which a coordinator leaves the files that clients of the same user need: its token (`PORT.token`)
/// and its Unix sockets (`PORT.sock`). `PORT.data` names its data folder, which workers of the same user hide from
/// commands.
///
/// A folder is used only if it belongs to this user or to root, and its mode admits no other user. Only these two can
/// have put files there, so a client may send its token to a socket in such a folder.
package struct RuntimeFolders: Hashable, Sendable {
  /// Whether a folder can be used.
  package enum Standing: Hashable, Sendable {
    /// There is no such folder.
    case absent
    /// The folder belongs to this user or to root, and admits no other user.
    case trusted
    /// The folder is not used. The text says why, and how to repair it.
    case refused(String)
  }

  /// The folders in which clients look, in this order.
  package let paths: [String]
  /// The folders in which a coordinator tries to leave its files, in this order. The first one that can be used is
  /// taken.
  package let publishing: [String]
  let user: UInt32

  package init(paths: [String], publishing: [String]? = nil, user: UInt32 = geteuid()) {
    (self.paths, self.publishing, self.user) = (paths, publishing ?? paths, user)
  }

  /// The folders of this process, in this order: `$XDG_RUNTIME_DIR/baton`; `/run/user/UID/baton`, which is the same
  /// folder in a login session and is also found from cron, sudo and `env -i`; the folder of the systemd unit in
  /// Deploy; and `/tmp/baton-UID` for a user without a session. A coordinator that systemd started with a
  /// `RuntimeDirectory` publishes there first (`$RUNTIME_DIRECTORY`, systemd.exec(5)).
  package init(
    environment: [String: String] = ProcessInfo.processInfo.environment, user: UInt32 = geteuid()
  ) {
    func folder(_ variable: String) -> String? { environment[variable].flatMap { $0.isEmpty ? nil : $0 } }
    let session = [folder("XDG_RUNTIME_DIR").map { $0 + "/baton" }, "/run/user/\(user)/baton"].compactMap { $0 }
    let service = folder("RUNTIME_DIRECTORY")?.split(separator: ":").first.map(String.init)
    let last = "/tmp/baton-\(user)"
    self.init(
      paths: Self.unique(session + [Self.unit, last]),
      publishing: Self.unique([service].compactMap { $0 } + session + [last]), user: user)
  }

  /// The `RuntimeDirectory` of Deploy/baton-coordinator.service.
  package static let unit = "/run/baton-coordinator"

  private static func unique(_ paths: [String]) -> [String] {
    paths.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
  }

  /// Whether the files in the folder at `path` may be used.
  package func standing(of path: String) -> Standing {
    let folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard folder >= 0 else {
      switch errno {
      case ENOENT: return .absent
      case ELOOP, ENOTDIR: return .refused("\(path) is not a folder: remove it, another user may have put it there")
      case EACCES: return .refused("\(path) belongs to another user: set XDG_RUNTIME_DIR to a folder of your own")
      default: return .refused("\(path) cannot be opened: \(String(cString: strerror(errno)))")
      }
    }
    defer { close(folder) }
    do {
      let status = try FileDescriptor(rawValue: folder).stat()
      return standing(of: path, owner: status.userID.rawValue, mode: UInt32(status.permissions.rawValue))
    } catch {
      return .refused("\(path) cannot be examined: \(error)")
    }
  }

  func standing(of path: String, owner: UInt32, mode: UInt32) -> Standing {
    guard owner == user || owner == 0 else {
      return .refused(
        "\(path) belongs to user \(owner): nothing in it is used; set XDG_RUNTIME_DIR to a folder of your own")
    }
    guard mode & 0o077 == 0 else {
      let octal = String(mode & 0o7777, radix: 8)
      return .refused("\(path) has mode \(octal), so other users can reach into it: chmod 700 \(path)")
    }
    return .trusted
  }

  /// The path of the first file with this name in a trusted folder; `nil` if there is none. The file must belong to
  /// this user or to root; a symbolic link is not followed.
  package func file(_ name: String, isSocket: Bool = false) -> String? {
    paths.lazy.filter { standing(of: $0) == .trusted }.map { $0 + "/" + name }.first { path in
      guard let status = try? FilePath(path).stat(followTargetSymlink: false) else { return false }
      return status.type == (isSocket ? .socket : .regular)
        && [user, 0].contains(status.userID.rawValue)
    }
  }

  /// The file that names the data folder of the coordinator on `port`.
  package static func dataFile(_ port: Int, in folder: String) -> String { "\(folder)/\(port)\(dataSuffix)" }
  private static let dataSuffix = ".data"

  /// The data folders of all coordinators that have published theirs in a folder that can be trusted. A coordinator
  /// may start at any time, so ask before each use.
  package var dataFolders: [String] {
    let all = Self.unique(paths + publishing).filter { standing(of: $0) == .trusted }
    let files = all.flatMap { folder in
      ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted()
        .filter { $0.hasSuffix(Self.dataSuffix) }.map { folder + "/" + $0 }
    }
    return Self.unique(files.compactMap(Self.dataFolder))
  }

  private static func dataFolder(in file: String) -> String? {
    guard let text = try? String(contentsOfFile: file, encoding: .utf8) else { return nil }
    let path = text.split(whereSeparator: \.isNewline).first.map(String.init) ?? ""
    return path.hasPrefix("/") ? path : nil
  }

  /// Why existing folders are not used; empty if all of them can be used or do not exist.
  package var refusals: [String] {
    paths.compactMap { if case .refused(let why) = standing(of: $0) { why } else { nil } }
  }

  /// The folder in which this coordinator leaves its files. It is created with mode 0700 if it does not exist.
  /// - Throws: `TokenFileError` that says for each folder why it cannot be used.
  package func own() throws -> String {
    var problems: [String] = []
    for path in publishing {
      if case .absent = standing(of: path), mkdir(path, 0o700) != 0, errno != EEXIST {
        problems.append("\(path) cannot be made: \(String(cString: strerror(errno)))")
        continue
      }
      switch standing(of: path) {
      case .trusted:
        if access(path, W_OK) == 0 { return path }
        problems.append("\(path) cannot be written")
      case .refused(let why): problems.append(why)
      case .absent: problems.append("\(path) was removed")
      }
    }
    throw TokenFileError(.cannotWrite, problems.joined(separator: "; "))
  }
}
