package esxsim

import (
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// browser lists datastore folders. The simulator's own panics on a file that
// goes away under it, and knows no datastore with a bracket in its name.
type browser struct {
	*simulator.HostDatastoreBrowser
	server *Server
}

// SearchDatastoreTask lists a folder.
func (b *browser) SearchDatastoreTask(ctx *simulator.Context, req *types.SearchDatastore_Task) soap.HasFault {
	t := simulator.CreateTask(b, "searchDatastore", func(*simulator.Task) (types.AnyType, types.BaseMethodFault) {
		found, fault := b.search(req.DatastorePath, req.SearchSpec, false)
		if fault != nil {
			return nil, fault
		}
		return found[0], nil
	})
	return &methods.SearchDatastore_TaskBody{Res: &types.SearchDatastore_TaskResponse{Returnval: t.Run(ctx)}}
}

// SearchDatastoreSubFoldersTask lists a folder and those below.
func (b *browser) SearchDatastoreSubFoldersTask(ctx *simulator.Context, req *types.SearchDatastoreSubFolders_Task) soap.HasFault {
	t := simulator.CreateTask(b, "searchDatastoreSubFolders", func(*simulator.Task) (types.AnyType, types.BaseMethodFault) {
		found, fault := b.search(req.DatastorePath, req.SearchSpec, true)
		if fault != nil {
			return nil, fault
		}
		return types.ArrayOfHostDatastoreBrowserSearchResults{HostDatastoreBrowserSearchResults: found}, nil
	})
	return &methods.SearchDatastoreSubFolders_TaskBody{Res: &types.SearchDatastoreSubFolders_TaskResponse{Returnval: t.Run(ctx)}}
}

func (b *browser) search(where string, spec *types.HostDatastoreBrowserSearchSpec, deep bool) ([]types.HostDatastoreBrowserSearchResults, types.BaseMethodFault) {
	st, dir := b.server.parsePath(where)
	if st == nil {
		return nil, &types.InvalidDatastorePath{DatastorePath: where}
	}
	if spec == nil {
		spec = &types.HostDatastoreBrowserSearchSpec{}
	}
	entries, err := fs.ReadDir(st.root.FS(), dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &types.FileNotFound{FileFault: types.FileFault{File: where}}
	}
	if err != nil {
		return nil, &types.CannotAccessFile{FileFault: types.FileFault{File: where}}
	}
	here := types.HostDatastoreBrowserSearchResults{Datastore: st.refp(), FolderPath: strings.TrimSuffix(dsPath{st.spec.Name, strings.TrimPrefix(dir, ".")}.String(), "/") + "/"}
	found := []types.HostDatastoreBrowserSearchResults{here}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue // gone since
		}
		if asked(spec, info) {
			found[0].File = append(found[0].File, fileInfo(spec.Details, info))
		}
		if deep && e.IsDir() {
			below, fault := b.search(dsPath{st.spec.Name, path.Join(dir, e.Name())}.String(), spec, true)
			if fault == nil {
				found = append(found, below...)
			}
		}
	}
	return found, nil
}

// parsePath splits "[datastore] dir/file" by the datastores there are.
func (s *Server) parsePath(p string) (*store, string) {
	for _, st := range s.stores {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(p), "["+st.spec.Name+"]"); ok {
			return st, path.Clean(strings.Trim(rest, " /"))
		}
	}
	return nil, ""
}

// asked says whether a search is for this file: a flat extent is no disk, and
// patterns know only * and ?.
func asked(spec *types.HostDatastoreBrowserSearchSpec, info fs.FileInfo) bool {
	name := info.Name()
	fits := len(spec.MatchPattern) == 0
	for _, p := range spec.MatchPattern {
		n := name
		if spec.SearchCaseInsensitive != nil && *spec.SearchCaseInsensitive {
			p, n = strings.ToLower(p), strings.ToLower(n)
		}
		fits = fits || glob(p, n)
	}
	if !fits || len(spec.Query) == 0 {
		return fits
	}
	for _, q := range spec.Query {
		ok := false
		switch q.(type) {
		case *types.FileQuery:
			ok = true
		case *types.FolderFileQuery:
			ok = info.IsDir()
		case *types.VmDiskFileQuery:
			ok = path.Ext(name) == ".vmdk" && !strings.HasSuffix(name, "-flat.vmdk") && !strings.HasSuffix(name, "-delta.vmdk") && !strings.HasSuffix(name, "-ctk.vmdk")
		case *types.VmConfigFileQuery:
			ok = path.Ext(name) == ".vmx"
		case *types.IsoImageFileQuery:
			ok = path.Ext(name) == ".iso"
		case *types.VmLogFileQuery:
			ok = path.Ext(name) == ".log"
		case *types.VmNvramFileQuery:
			ok = path.Ext(name) == ".nvram"
		}
		if ok {
			return true
		}
	}
	return false
}

func fileInfo(details *types.FileQueryFlags, info fs.FileInfo) types.BaseFileInfo {
	f := types.FileInfo{Path: info.Name()}
	if details == nil {
		details = &types.FileQueryFlags{}
	}
	if details.FileSize {
		f.FileSize = info.Size()
	}
	if details.Modification {
		at := info.ModTime()
		f.Modification = &at
	}
	if info.IsDir() {
		return &types.FolderFileInfo{FileInfo: f}
	}
	if !details.FileType {
		return &f
	}
	switch path.Ext(f.Path) {
	case ".iso":
		return &types.IsoImageFileInfo{FileInfo: f}
	case ".log":
		return &types.VmLogFileInfo{FileInfo: f}
	case ".nvram":
		return &types.VmNvramFileInfo{FileInfo: f}
	case ".vmdk":
		return &types.VmDiskFileInfo{FileInfo: f}
	case ".vmx":
		return &types.VmConfigFileInfo{FileInfo: f}
	}
	return &f
}

// glob matches with * and ? alone.
func glob(pattern, name string) bool {
	if pattern == "" {
		return name == ""
	}
	if pattern[0] == '*' {
		for i := 0; i <= len(name); i++ {
			if glob(pattern[1:], name[i:]) {
				return true
			}
		}
		return false
	}
	return name != "" && (pattern[0] == '?' || pattern[0] == name[0]) && glob(pattern[1:], name[1:])
}
