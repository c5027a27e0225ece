internal import BatonBase
internal import BatonHost
package import BatonModel
internal import BatonProcess

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// What a journal has when its process starts.
package struct RestoredTransfers: Sendable {
  package var records: [TransferRecord] = []
  package var cancelled: [TransferKey] = []
  package var released: [RequestID] = []
  /// The bytes of the files that are kept for each request.
  package var kept: [RequestID: Int64] = [:]
  /// What could not be read, in words for people. The order of such a transfer has to come again.
  package var problems: [String] = []
}

extension TransferJournal {
  /// Reads what the last process left. A partial file that is shorter than its record says is not gone on with; one
  /// that is longer is cut where it was synced. Partial files without a record are removed, and those of transfers that
  /// have ended.
  package func restore() throws -> RestoredTransfers {
    var restored = RestoredTransfers()
    for name in try names(in: folder + "/records") { read(name, into: &restored) }
    restored.records.sort { $0.key < $1.key }
    // The last process may have been killed after it wrote the end, and before it removed the partial file.
    for record in restored.records where record.end != nil {
      do { try removePart(of: record.assignment) } catch { restored.problems.append("\(error)") }
    }
    let parts = Set(restored.records.map { "\($0.key.request)-\($0.key.index)" })
    for name in try names(in: folder + "/parts") where !parts.contains(name) { unlink(folder + "/parts/" + name) }
    for name in try names(in: folder + "/files") {
      guard let number = Int64(name) else { continue }
      restored.kept[RequestID(number)] = size(below: folder + "/files/" + name)
    }
    return restored
  }

  private func read(_ name: String, into restored: inout RestoredTransfers) {
    let path = folder + "/records/" + name
    if name.hasSuffix(".json") {
      do {
        let bytes = SystemCall.contents(of: path, limit: TransferRequest.maximumBytes) ?? []
        restored.records.append(checked(try JSONDecoder().decode(TransferRecord.self, from: Data(bytes))))
      } catch {
        // The file is kept for a person to look at, under a name that is not read again.
        rename(path, path + ".unreadable")
        restored.problems.append(
          "\(path) cannot be read and was renamed to \(name).unreadable: its order has to come again")
      }
    } else if name.hasSuffix(".cancelled") {
      let numbers = name.dropLast(".cancelled".count).split(separator: "-").compactMap { Int64($0) }
      guard numbers.count == 2 else { return }
      restored.cancelled.append(TransferKey(request: RequestID(numbers[0]), index: Int(numbers[1])))
    } else if name.hasSuffix(".released") {
      if let number = Int64(name.dropLast(".released".count)) { restored.released.append(RequestID(number)) }
    } else if name.hasSuffix(".new") {
      unlink(path)
    }
  }

  private func checked(_ record: TransferRecord) -> TransferRecord {
    guard record.end == nil, record.offset > 0, record.assignment.transfer.method == .get else { return record }
    if let length = fileSize(part(of: record.assignment)), length >= record.offset { return record }
    // The file may be under its final name already: then the attempt finds it there.
    var record = record
    (record.offset, record.validator, record.total) = (0, nil, nil)
    return record
  }

  private func names(in folder: String) throws -> [String] {
    do {
      return try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
    } catch {
      throw SystemError(.failed, "cannot list the folder \(folder): \(error)")
    }
  }

  private func size(below folder: String) -> Int64 {
    guard let all = FileManager.default.subpathsIfReadable(folder) else { return 0 }
    return all.reduce(0) { $0 + (SystemCall.isRegularFile(folder + "/" + $1) ? fileSize(folder + "/" + $1) ?? 0 : 0) }
  }
}

extension FileManager {
  fileprivate func subpathsIfReadable(_ folder: String) -> [String]? { try? subpathsOfDirectory(atPath: folder) }
}

/// The size of the file at `path`, in bytes; `nil` if there is none.
func fileSize(_ path: String) -> Int64? {
  guard let descriptor = try? SystemCall.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK) else { return nil }
  defer { close(descriptor) }
  let size = lseek(descriptor, 0, Int32(SEEK_END))
  return size < 0 ? nil : Int64(size)
}

/// The free room for this user on the file system of `path`, in bytes. `Int64.max` if the system does not tell.
package func freeRoom(at path: String) -> Int64 {
  var facts = statvfs()
  guard statvfs(path, &facts) == 0 else { return .max }
  return Int64(clamping: UInt64(facts.f_bavail) &* UInt64(facts.f_frsize))
}
