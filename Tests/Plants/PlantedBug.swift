import Glibc

private let chosen = getenv("BATON_PLANTED_BUG").map { String(cString: $0) }

/// Whether this process has the planted bug of this name. `Scripts/plant` copies this file into `BatonModel` of a copy
/// of the tree, in which the patches of this folder call it. No other build has planted bugs.
package func isPlanted(_ bug: String) -> Bool { chosen == bug }
